import { type EngineKind } from './mock-engine.options';

/** An error body in the shape this kind of engine gives. */
export function engineError(kind: EngineKind, status: number, message: string): unknown {
  const type = status >= 500 ? 'InternalServerError' : 'BadRequestError';
  return kind === 'vllm'
    ? { error: { message, type, param: null, code: status } }
    : { object: 'error', message, type, param: null, code: status };
}
