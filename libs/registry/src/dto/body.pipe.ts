import { type PipeTransform } from '@nestjs/common';
import { plainToInstance, type ClassConstructor } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { BodyRejected } from '../core/body-rejected';
import { excessOf } from '../core/body-size';

/**
 * Reads a body by the shape of a DTO class. Unknown members are dropped, `null` counts as absent, and
 * the message of a refusal names members but never repeats a value: bodies hold keys.
 */
export class BodyPipe<Wire> implements PipeTransform<unknown, Wire> {
  constructor(private readonly shape: ClassConstructor<object>) {}

  transform(body: unknown): Wire {
    if (body === undefined) throw new BodyRejected(400, 'Failed to parse the request body as JSON');
    if (Buffer.isBuffer(body) || typeof body === 'string') {
      throw new BodyRejected(415, 'Expected request with `Content-Type: application/json`');
    }
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw unprocessable('expected a JSON object');
    }
    const excess = excessOf(body);
    if (excess !== undefined) throw unprocessable(excess);
    const dto = this.read(body);
    const errors = validateSync(dto, { whitelist: true, stopAtFirstError: true });
    if (errors.length > 0)
      throw unprocessable(errors.flatMap((it) => reasonsOf(it, '')).join('; '));
    return withoutAbsent(dto) as Wire;
  }

  private read(body: object): object {
    try {
      return plainToInstance(this.shape, body);
    } catch {
      // class-transformer asks plain objects for their `constructor`, which free-form JSON may redefine.
      throw unprocessable('a member deep inside is named `constructor`');
    }
  }
}

function unprocessable(reason: string): BodyRejected {
  return new BodyRejected(422, `Failed to deserialize the JSON body: ${reason}`);
}

/** How class-validator begins a reason about the members of an array. */
const EACH = 'each value in ';

function reasonsOf(error: ValidationError, prefix: string): string[] {
  const own = Object.values(error.constraints ?? {}).map((reason) =>
    reason.startsWith(EACH) ? `${EACH}${prefix}${reason.slice(EACH.length)}` : `${prefix}${reason}`,
  );
  const nested = (error.children ?? []).flatMap((it) =>
    reasonsOf(it, `${prefix}${error.property}.`),
  );
  return [...own, ...nested];
}

/** Plain objects again, without the members a DTO class declares and nobody sent. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, it]) => it !== undefined && it !== null);
  return Object.fromEntries(present.map(([name, it]) => [name, withoutAbsent(it)]));
}
