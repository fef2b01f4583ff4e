/** Model the backend serves. */
export const MODEL = 'bench-model';
/** Header the gateway is told to read worker requirements from; sent to every variant alike. */
export const FILTER_HEADER = 'x-bench-worker-filter';
/** Size of the request body, bytes. */
export const REQUEST_BODY_BYTES = 1040;

/** Builds one chat request, head and body, as the bytes that go on the wire. */
export function chatRequest(port: number, apiKey: string, stream: boolean): Buffer {
  return requestOf(port, apiKey, chatBody(stream));
}

function requestOf(port: number, apiKey: string, body: Buffer): Buffer {
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

/** Characters that a fresh prompt shares with those of its group, and how many groups there are. */
const SHARED_CHARACTERS = 512;
const GROUPS = 64;
const PROMPT_CHARACTERS = 1_024;
/** Where in a prompt the number of its group, and its own, stand. */
const NUMBER_DIGITS = 10;

/**
 * A chat request with a prompt of 1 KiB whose first half is a group's and whose second half is its
 * own, once {@link renewPrompt} has numbered it.
 */
export function freshRequest(port: number, apiKey: string): Buffer {
  const half = (what: string, length: number): string =>
    `${'0'.repeat(NUMBER_DIGITS)} ${`${what} of this prompt. `.repeat(40)}`.slice(0, length);
  const content =
    half('The beginning', SHARED_CHARACTERS) +
    half('The rest', PROMPT_CHARACTERS - SHARED_CHARACTERS);
  const messages = [{ role: 'user', content }];
  const body = JSON.stringify({ model: MODEL, messages, max_tokens: 128, stream: false });
  return requestOf(port, apiKey, Buffer.from(body, 'latin1'));
}

/** Numbers the prompt of a {@link freshRequest}, in place: no two numbers make the same one. */
export function renewPrompt(request: Buffer, number: number): void {
  const start = request.indexOf('"content":"') + '"content":"'.length;
  const digits = (value: number): string => String(value).padStart(NUMBER_DIGITS, '0');
  request.write(digits(number % GROUPS), start, 'latin1');
  request.write(digits(number), start + SHARED_CHARACTERS, 'latin1');
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
