import { type ServingAuth, type ServingDecision } from '@smg/plugin-api';
import { parseBearer } from './bearer';
import { type KeyHolder } from './key-set';
import { type RefusalReason } from './refusal-reasons';

const OPEN: ServingDecision = Object.freeze({ allowed: true, consumesAuthorization: false });
const MISSING: ServingDecision = Object.freeze({
  allowed: false,
  message: 'Missing API key. Send it as: Authorization: Bearer <key>',
});
const UNKNOWN: ServingDecision = Object.freeze({ allowed: false, message: 'Invalid API key' });

/** Decides on serving requests: the shared key or a tenant's; open when none is configured. */
export class ServingKeyAuth implements ServingAuth {
  constructor(
    private readonly keys: KeyHolder,
    private readonly onRefusal?: (reason: RefusalReason) => void,
  ) {}

  /** No key is configured. */
  get isOpen(): boolean {
    return this.keys.current.serving.size === 0;
  }

  decide(authorization: string | undefined): ServingDecision {
    const { serving } = this.keys.current;
    if (serving.size === 0) return OPEN;
    const token = parseBearer(authorization);
    if (token === undefined) return MISSING;
    return serving.find(token)?.decision ?? UNKNOWN;
  }

  noteRefusal(decision: ServingDecision): void {
    this.onRefusal?.(decision === MISSING ? 'missing_credentials' : 'unknown_key');
  }
}
