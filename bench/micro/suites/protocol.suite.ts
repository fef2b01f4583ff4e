import { renderErrorEnvelope } from '@smg/protocol';
import { type MicroSuite, repeat } from '../micro-suite';

/** What the gateway writes itself. */
export const protocolSuite: MicroSuite = {
  name: 'protocol',
  prepare() {
    const message = "no worker is eligible for model 'm': 2 paused, 1 stale (latest 42)";
    return [
      repeat(
        'error envelope',
        () => renderErrorEnvelope(503, 'no_available_workers', message).length,
      ),
    ];
  },
};
