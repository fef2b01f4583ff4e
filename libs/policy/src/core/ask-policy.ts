import { type RoutingPolicy, type SelectionContext, type WorkerView } from '@smg/plugin-api';
import { GatewayError } from '@smg/protocol';

/**
 * What a policy, ours or a plug-in's, picks of the candidates.
 * @throws GatewayError `policy_failed` when it throws or picks somebody else.
 */
export function askPolicy(
  policy: RoutingPolicy,
  candidates: readonly WorkerView[],
  context: SelectionContext,
): WorkerView | undefined {
  let picked: WorkerView | undefined;
  try {
    picked = policy.select(candidates, context);
  } catch (cause) {
    throw new GatewayError('policy_failed', `policy '${policy.name}' threw`, { cause });
  }
  if (picked !== undefined && !candidates.includes(picked)) {
    throw new GatewayError(
      'policy_failed',
      `policy '${policy.name}' returned a worker it was not given`,
    );
  }
  return picked;
}
