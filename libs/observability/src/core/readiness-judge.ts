import { type Lifecycle, type ReadinessCheck, type WorkerView } from '@smg/plugin-api';
import { type ReadinessVerdict } from './health-board';

/** One condition and why it does not hold. */
export interface ReadinessFinding {
  readonly name: string;
  /** Undefined when it holds. */
  readonly reason: string | undefined;
}

/** All findings, in the order their reasons count. */
export interface ReadinessJudgement extends ReadinessVerdict {
  readonly findings: readonly ReadinessFinding[];
}

/**
 * Readiness (SMG contract, "Health and info"): draining first, then the workers, then whatever
 * extensions ask for. One ready worker is the least any mode needs; an extension may ask for more.
 */
export function judgeReadiness(
  lifecycle: Lifecycle,
  workers: readonly WorkerView[],
  checks: readonly ReadinessCheck[],
): ReadinessJudgement {
  let healthyWorkers = 0;
  for (const worker of workers) if (worker.status === 'ready') healthyWorkers++;
  const findings: ReadinessFinding[] = [
    { name: 'lifecycle', reason: lifecycle.isDraining ? 'draining' : undefined },
    {
      name: 'workers',
      reason: healthyWorkers === 0 ? 'insufficient healthy workers' : undefined,
    },
  ];
  for (const check of checks) {
    findings.push({ name: `extension:${check.name}`, reason: ask(check) });
  }
  const failed = findings.find((finding) => finding.reason !== undefined);
  return { findings, reason: failed?.reason, healthyWorkers, totalWorkers: workers.length };
}

function ask(check: ReadinessCheck): string | undefined {
  try {
    return check.check();
  } catch {
    // Not ready is the safe reading; what was thrown is not for a probe's eyes.
    return `readiness check '${check.name}' failed`;
  }
}
