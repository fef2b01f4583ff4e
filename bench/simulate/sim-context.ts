import { type SelectionContext, type SelectionLeg } from '@smg/plugin-api';
import { type Segment, textOf, tokenIdsOf } from './prompt';
import { MODEL } from './sim-worker';
import { type Variant } from './variants';

/** What selection may know of one simulated request; text and ids are made before the clock runs. */
export class SimContext implements SelectionContext {
  readonly model = MODEL;
  readonly endpoint = 'generate' as const;
  readonly attempt = 1;
  private readonly text: Buffer;
  private readonly tokens: readonly number[] | undefined;

  constructor(
    prompt: readonly Segment[],
    private readonly key: string | undefined,
    readonly leg: SelectionLeg,
    variant: Pick<Variant, 'hasTokens'>,
  ) {
    this.text = textOf(prompt);
    this.tokens = variant.hasTokens ? tokenIdsOf(prompt) : undefined;
  }

  header(name: string): string | undefined {
    return name === 'x-smg-routing-key' ? this.key : undefined;
  }

  routingText(): Buffer {
    return this.text;
  }

  routingTokens(): readonly number[] | undefined {
    return this.tokens;
  }

  routingKey(): string | undefined {
    return this.key;
  }

  affinityKey(): string | undefined {
    return this.key;
  }
}
