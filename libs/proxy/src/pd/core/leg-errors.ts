import { type ErrorCode, GatewayError } from '@smg/protocol';

/** Characters of an engine's own words in a message of ours. */
const MAX_TEXT = 2000;

type Leg = 'prefill' | 'decode';

const KINDS: Readonly<
  Record<number, 'bad_request' | 'not_found' | 'internal_error' | 'unavailable' | 'bad_gateway'>
> = {
  400: 'bad_request',
  404: 'not_found',
  500: 'internal_error',
  502: 'bad_gateway',
  503: 'unavailable',
};

/** An engine's refusal as an error of ours. Source: SMG contract 6.1, points 7 and 8. */
export function legError(leg: Leg, status: number, body: Buffer): GatewayError {
  const kind = KINDS[status];
  const code: ErrorCode = kind === undefined ? `${leg}_error` : `${leg}_${kind}`;
  if (leg === 'decode') return new GatewayError(code, messageIn(body));
  const text = body.toString('utf8', 0, MAX_TEXT);
  return new GatewayError(code, `Prefill server error (${status}): ${text}`);
}

/** What an engine says in its error body: `error.message`, `message`, or all of it. */
export function messageIn(body: Buffer): string {
  const text = body.toString('utf8');
  try {
    const json = JSON.parse(text) as { error?: { message?: unknown }; message?: unknown } | null;
    const found = json?.error?.message ?? json?.message;
    if (typeof found === 'string') return found.slice(0, MAX_TEXT);
  } catch {
    // It is no JSON.
  }
  return text.slice(0, MAX_TEXT);
}

/** The only event of a stream that decode refused; without the end marker. */
export function refusalEvent(message: string, status: number): string {
  return `data: ${JSON.stringify({ error: { message, status } })}\n\n`;
}
