import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { renderDocsPage } from './docs-page';

const ROUTE = '/docs';

/**
 * A browser sends no `Authorization` when somebody types an address, and knows no dialog for a Bearer
 * challenge. Its refusal at `/docs` therefore carries the page that asks for a key; status, challenge
 * and everybody else's answer stay as the guard made them.
 */
export function askBrowsersToSignIn(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode !== 401 || !isNavigation(request)) {
      done(null, payload);
      return;
    }
    const { html, headers } = renderDocsPage(true);
    void reply.removeHeader('content-length').headers(headers);
    done(null, html);
  });
}

function isNavigation({ method, routeOptions, headers }: FastifyRequest): boolean {
  return (
    method === 'GET' && routeOptions.url === ROUTE && /\btext\/html\b/i.test(headers.accept ?? '')
  );
}
