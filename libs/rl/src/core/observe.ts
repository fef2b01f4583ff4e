import { type ControlEffect } from '@smg/plugin-api';
import { type VersionTable } from './version-table';
import { validateVersion, type VersionFault } from './version-validator';

/** The engine a control call goes to. */
export interface CalledEngine {
  readonly baseUrl: string;
  readonly modelId: string;
}

/** Told of a version the engine was given and the table cannot keep; the value itself is never told. */
export interface RefusedVersion {
  readonly reason: VersionFault | 'not_a_string_or_number';
  /** JSON type of an unusable field. */
  readonly kind?: string;
}

/** One control call under observation. Settle it exactly once; anything after that is ignored. */
export interface ObservedCall {
  /** The answer was read, whole or cut. @returns whether the engine agreed. */
  answered(status: number, body: Buffer): boolean;
  /** There is no answer: unreachable, deadline, or the caller left. */
  failed(): void;
}

/**
 * Watches one control call: what it closes is closed at once, before the call is sent; what it opens,
 * and the version it carries, count once the engine has agreed.
 */
export function observeCall(
  table: VersionTable,
  engine: CalledEngine,
  effects: readonly ControlEffect[],
  onRefused: (refused: RefusedVersion) => void = () => undefined,
): ObservedCall {
  const { moment } = table;
  const closing = table.beginClosing(engine.baseUrl, effects);
  let settled = false;
  return {
    answered(status, body) {
      const agrees = isAgreement(status, body);
      if (settled) return agrees;
      settled = true;
      if (!agrees) {
        closing.rollBack();
        return false;
      }
      closing.confirm();
      for (const effect of effects) apply(table, engine, effect, moment, onRefused);
      return true;
    },
    failed() {
      if (settled) return;
      settled = true;
      closing.rollBack();
    },
  };
}

/**
 * Whether an engine did what it was asked: 2xx, and no JSON object that says `success: false` or
 * `status: "error"`. Engines answer 200 to a refit they could not do.
 */
export function isAgreement(status: number, body: Buffer): boolean {
  if (status < 200 || status > 299) return false;
  if (body.length === 0) return true;
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString('utf8'));
  } catch {
    return true;
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return true;
  const { success, status: said } = answer as { success?: unknown; status?: unknown };
  return success !== false && said !== 'error';
}

function apply(
  table: VersionTable,
  engine: CalledEngine,
  effect: ControlEffect,
  moment: number,
  onRefused: (refused: RefusedVersion) => void,
): void {
  switch (effect.kind) {
    case 'pause':
    case 'release':
      return; // Done by the closing.
    case 'resume':
      table.resume(engine.baseUrl, moment);
      return;
    case 'restore':
      table.restore(engine.baseUrl, effect.tags, moment);
      return;
    case 'version': {
      const checked = validateVersion(effect.version);
      if (!checked.ok) onRefused({ reason: checked.reason });
      else table.setVersion(engine.baseUrl, engine.modelId, checked.version, 'passthrough');
      return;
    }
    case 'unusable_version':
      onRefused({ reason: 'not_a_string_or_number', kind: effect.found });
      return;
  }
}
