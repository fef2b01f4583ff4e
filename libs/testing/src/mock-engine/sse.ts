import { type Answer } from './answer';

const SSE_HEADERS = [
  'content-type',
  'text/event-stream; charset=utf-8',
  'cache-control',
  'no-cache',
];

/** Writes server-sent events in an engine's way: one `data:` line each, LF line ends. */
export class SseWriter {
  constructor(private readonly answer: Answer) {}

  open(headers: readonly string[] = []): Promise<void> {
    return this.answer.head(200, [...SSE_HEADERS, ...headers]);
  }

  data(value: unknown): Promise<void> {
    return this.answer.write(`data: ${JSON.stringify(value)}\n\n`);
  }

  /** A named event, for the protocols that name them. */
  event(name: string, value: unknown): Promise<void> {
    return this.answer.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`);
  }

  /** The end marker of the OpenAI protocols. */
  done(): Promise<void> {
    return this.answer.end('data: [DONE]\n\n');
  }

  end(): Promise<void> {
    return this.answer.end();
  }
}
