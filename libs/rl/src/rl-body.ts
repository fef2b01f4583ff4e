import { type Type } from '@nestjs/common';
import { validateSync } from 'class-validator';
import { rlErrors } from './core/rl-error';
import { bytesOf, sentHeader, type RlRequest } from './rl.http';

const JSON_TYPE = /^\s*application\/(?:[!#$%&'*+.^_`|~0-9a-z-]+\+)?json\s*(?:;|$)/i;

/**
 * Reads the one member a write route takes, by the rules of its DTO. Further members are ignored; a
 * message never repeats a value.
 * @throws RlError `invalid_body`
 */
export function readRlBody<T extends object>(
  request: RlRequest,
  shape: Type<T>,
  member: keyof T & string,
): T {
  if (!JSON_TYPE.test(sentHeader(request, 'content-type') ?? '')) {
    throw rlErrors.invalidBody('Expected request with `Content-Type: application/json`');
  }
  const value = parse(bytesOf(request));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw rlErrors.invalidBody('the body is not a JSON object');
  }
  if (!Object.hasOwn(value, member)) throw rlErrors.invalidBody(`missing field \`${member}\``);
  // Only the member is copied: other names may mean something to JavaScript.
  const dto = Object.assign(new shape(), { [member]: Reflect.get(value, member) });
  const [fault] = validateSync(dto, { stopAtFirstError: true });
  if (fault !== undefined) {
    throw rlErrors.invalidBody(Object.values(fault.constraints ?? {}).join('; '));
  }
  return dto;
}

function parse(body: Buffer): unknown {
  if (body.length === 0) throw rlErrors.invalidBody('the body is empty');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    throw rlErrors.invalidBody('the body is not valid JSON');
  }
}
