import { Controller, Get, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { ControlPlane, DescribedBy } from '@smg/plugin-api';
import type * as Description from './docs.description';
import { renderDocsPage } from './docs-page';
import { DocumentSource } from './document.source';
import { UI_FILES, type UiFile, UiFiles } from './ui-files';

/** `/openapi.json` and Swagger UI at `/docs`, under the guard of every control route. */
@ControlPlane()
@DescribedBy(() => (require('./docs.description') as typeof Description).DOCS_DESCRIPTION)
@Controller()
export class DocsController {
  private readonly files = new UiFiles();

  constructor(private readonly source: DocumentSource) {}

  @Get('openapi.json')
  document(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { json, etag } = this.source.get();
    if (isFresh(request, reply, etag)) return;
    void reply.header('content-type', 'application/json').send(json);
  }

  @Get('docs')
  page(@Res() reply: FastifyReply): void {
    const { html, headers } = renderDocsPage(false);
    void reply.headers(headers).send(html);
  }

  @Get('docs/swagger-ui.css')
  style(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.send('swagger-ui.css', request, reply);
  }

  @Get('docs/swagger-ui-bundle.js')
  bundle(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.send('swagger-ui-bundle.js', request, reply);
  }

  private send(file: UiFile, request: FastifyRequest, reply: FastifyReply): void {
    if (isFresh(request, reply, this.files.etagOf(file))) return;
    void reply
      .header('content-type', UI_FILES[file])
      .header('content-length', this.files.sizeOf(file))
      .send(this.files.open(file));
  }
}

/** Sets the headers of a cacheable answer; sends 304 when the browser has these bytes already. */
function isFresh(request: FastifyRequest, reply: FastifyReply, etag: string): boolean {
  // Kept by the browser alone, and asked about each time: a key may have been withdrawn.
  void reply
    .header('cache-control', 'private, no-cache')
    .header('etag', etag)
    .header('x-content-type-options', 'nosniff')
    .header('cross-origin-resource-policy', 'same-origin');
  const known = request.headers['if-none-match'];
  if (known?.split(',').some((tag) => tag.trim() === etag) !== true) return false;
  void reply.code(304).send();
  return true;
}
