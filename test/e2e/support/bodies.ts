/** Name every mock engine serves unless told otherwise. */
export const MODEL = 'mock-model';

export const chat = (more: object = {}): object => ({
  model: MODEL,
  messages: [{ role: 'user', content: 'Hello!' }],
  ...more,
});

export const chatStream = (more: object = {}): object => chat({ stream: true, ...more });

export const generate = (more: object = {}): object => ({ text: 'Hello, world!', ...more });

/** One event of a chat stream. */
export const chatEvent = (content: string): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`;

export const DONE = 'data: [DONE]\n\n';

/** Payloads of the `data:` lines of an event stream. */
export const dataOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart());
