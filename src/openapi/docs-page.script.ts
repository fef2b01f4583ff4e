/**
 * Runs in the browser. Fetches the document and Swagger UI, with the operator's key when there is one,
 * and mounts them. The key lives in this closure and in Swagger UI's own state, never in storage, a
 * cookie or an address.
 */
export const DOCS_PAGE_SCRIPT = `
(() => {
  'use strict';
  const nonce = document.currentScript.nonce;
  const form = document.getElementById('sign-in');
  const field = document.getElementById('key');
  const message = document.getElementById('message');

  const fetchText = async (path, key) => {
    const headers = key === undefined ? {} : { authorization: 'Bearer ' + key };
    const answer = await fetch(path, { headers, credentials: 'omit', redirect: 'error' });
    const text = await answer.text();
    if (!answer.ok) throw new Error(answer.status + ': ' + text.slice(0, 200));
    return text;
  };

  const insert = (tag, text) => {
    const element = document.createElement(tag);
    element.nonce = nonce;
    element.textContent = text;
    document.head.append(element);
  };

  const open = async (key) => {
    const spec = JSON.parse(await fetchText('openapi.json', key));
    const style = await fetchText('docs/swagger-ui.css', key);
    const code = await fetchText('docs/swagger-ui-bundle.js', key);
    // Behind a proxy the gateway may stand below a prefix.
    spec.servers = [{ url: new URL('.', location.href).pathname }];
    insert('style', style);
    insert('script', code);
    form.hidden = true;
    const ui = SwaggerUIBundle({
      spec,
      dom_id: '#swagger-ui',
      deepLinking: true,
      persistAuthorization: false,
      validatorUrl: null,
      onComplete: () => {
        if (key !== undefined) ui.preauthorizeApiKey('control-plane', key);
      },
    });
  };

  const tryToOpen = async (key) => {
    message.textContent = '';
    try {
      await open(key);
    } catch (error) {
      form.hidden = false;
      message.textContent = error.message;
    }
  };

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const key = field.value.trim();
    field.value = '';
    void tryToOpen(key);
  });

  if (document.body.dataset.ask === 'true') {
    form.hidden = false;
    field.focus();
  } else {
    void tryToOpen(undefined);
  }
})();
`;
