import { randomBytes } from 'node:crypto';
import { DOCS_PAGE_SCRIPT } from './docs-page.script';

const STYLE = `
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
#sign-in { max-width: 26rem; margin: 15vh auto 0; padding: 0 1rem; }
#sign-in[hidden] { display: none; }
#sign-in label, #sign-in input { display: block; width: 100%; box-sizing: border-box; }
#sign-in input { margin: .25rem 0 .75rem; padding: .5rem; font: inherit; }
#sign-in button { padding: .5rem 1.5rem; font: inherit; }
#message { color: #b00020; white-space: pre-wrap; overflow-wrap: anywhere; }
`;

/** A page and the headers it must come with. */
export interface DocsPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The page at `/docs`. It holds nothing of this gateway: what it shows it fetches, from routes that
 * judge the key again. So the refusal of a browser may carry it and ask for a key.
 *
 * @param asksFirst show the field for the key at once instead of trying without.
 */
export function renderDocsPage(asksFirst: boolean): DocsPage {
  const nonce = randomBytes(16).toString('base64');
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>SMG API</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body data-ask="${asksFirst}">
<form id="sign-in" hidden>
<h1>SMG API</h1>
<label for="key">Control-plane key or token</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" required>
<button>Open</button>
<p id="message" role="alert"></p>
</form>
<div id="swagger-ui"></div>
<noscript>This page needs JavaScript; the document itself is at openapi.json.</noscript>
<script nonce="${nonce}">${DOCS_PAGE_SCRIPT}</script>
</body>
</html>
`,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyOf(nonce),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    },
  };
}

/** Only what carries the nonce runs, and nothing but this gateway is spoken to. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    // Icons inside the style sheet of Swagger UI.
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
