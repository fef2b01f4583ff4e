import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';

const text = (type: string, description: string): MethodDecorator =>
  ApiResponse({
    status: 200,
    description,
    content: { [type]: { schema: { type: 'string' } } },
  });

const unchanged = ApiResponse({ status: 304, description: 'As `if-none-match` names it.' });

export const DOCS_DESCRIPTION: RouteDescriptions<'document' | 'page' | 'style' | 'bundle'> = {
  controller: [ApiTags('Documentation')],
  methods: {
    document: [
      ApiOperation({ summary: 'This document' }),
      ApiResponse({
        status: 200,
        description: 'OpenAPI 3.0, with the routes this gateway has.',
        content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
      }),
      unchanged,
    ],
    page: [
      ApiOperation({
        summary: 'Swagger UI',
        description: 'A browser that is not let in gets a page that asks for a key, with 401.',
      }),
      text('text/html', 'The page.'),
    ],
    style: [
      ApiOperation({ summary: 'Style sheet of the page' }),
      text('text/css', 'The file.'),
      unchanged,
    ],
    bundle: [
      ApiOperation({ summary: 'Script of the page' }),
      text('text/javascript', 'The file.'),
      unchanged,
    ],
  },
};
