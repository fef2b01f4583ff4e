import { outcomeOf, type EngineOutcome } from './engine-outcome';
import { plainText } from './plain-text';
import { isObject, refusalOf, type Answer } from './rl-client';
import { RlFailure } from './rl-failure';

/** What one engine made of a fan-out. */
export interface FanoutLine {
  readonly id: string;
  readonly url: string;
  /** Undefined when it gave no answer. */
  readonly outcome: EngineOutcome | undefined;
  /** Undefined when it did what it was asked. */
  readonly problem: string | undefined;
}

/** One line per engine, by URL. @throws RlFailure unless it is a report. */
export function fanoutLines(answer: Answer): readonly FanoutLine[] {
  const { status, json } = answer;
  const { results, failed } = json ?? {};
  if ((status !== 200 && status !== 207) || !isObject(results) || !Array.isArray(failed)) {
    throw new RlFailure(refusalOf(answer));
  }
  const lines = new Map<string, FanoutLine>();
  for (const [id, envelope] of Object.entries(results)) {
    const outcome = outcomeOf(envelope);
    const url = isObject(envelope) ? String(envelope['url']) : '';
    lines.set(id, { id, url, outcome, problem: outcome?.problem });
  }
  for (const one of failed.filter(isObject)) {
    const id = String(one['worker_id']);
    const { outcome, problem } = lines.get(id) ?? {};
    const why = problem ?? plainText(`${String(one['error'])}: ${String(one['message'])}`);
    lines.set(id, { id, url: String(one['url']), outcome, problem: why });
  }
  return [...lines.values()].sort((a, b) => (a.url < b.url ? -1 : a.url > b.url ? 1 : 0));
}
