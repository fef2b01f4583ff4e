/** Model the backend serves. */
export const MODEL = 'bench-model';
/** Header the gateway is told to read worker requirements from; sent to every variant alike. */
export const FILTER_HEADER = 'x-bench-worker-filter';
/** Size of the request body, bytes. */
export const REQUEST_BODY_BYTES = 1040;

/** Builds one chat request, head and body, as the bytes that go on the wire. */
export function chatRequest(port: number, apiKey: string, stream: boolean): Buffer {
  const body = chatBody(stream);
  const head =
    'POST /v1/chat/completions HTTP/1.1\r\n' +
    `Host: 127.0.0.1:${port}\r\n` +
    `Authorization: Bearer ${apiKey}\r\n` +
    'Content-Type: application/json\r\n' +
    'Accept: */*\r\n' +
    'User-Agent: smg-bench\r\n' +
    // Discovery turns the served name into a worker label, so this requirement always holds.
    `${FILTER_HEADER}: served_model_name=${MODEL}\r\n` +
    `Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** A chat body of exactly {@link REQUEST_BODY_BYTES} bytes. */
export function chatBody(stream: boolean): Buffer {
  const render = (content: string): string =>
    JSON.stringify({
      model: MODEL,
      messages: [
        { role: 'system', content: 'You are a concise assistant. Answer in plain English.' },
        { role: 'user', content },
      ],
      max_tokens: 128,
      temperature: 0.7,
      stream,
    });
  const question = 'Explain what a gateway in front of inference engines is for. ';
  const missing = REQUEST_BODY_BYTES - render('').length;
  return Buffer.from(render(question.repeat(40).slice(0, missing)), 'latin1');
}
