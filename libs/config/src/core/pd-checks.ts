import { type GatewayConfig } from './gateway-config';
import { strayPort } from './leg-endpoints';

type Label = (flag: string) => string;

/** What the options of prefill and decode can only have wrong together. */
export function checkPrefillDecode(
  { pd, routing }: GatewayConfig,
  label: Label,
): readonly string[] {
  const problems: string[] = [];
  const legs: [flag: string, words: readonly string[]][] = [
    ['prefill', pd.prefill],
    ['decode', pd.decode],
  ];
  const isServed = pd.enabled || routing.enableIgw;
  for (const [flag, words] of legs) {
    if (words.length > 0 && !isServed) {
      problems.push(`${label(flag)}: needs --pd-disaggregation or --enable-igw`);
    }
    for (const [index, word] of words.entries()) {
      const scheme = /^(grpcs?|ipc):/.exec(word)?.[0];
      if (scheme === undefined) continue;
      problems.push(
        `${label(flag)}: entry ${index + 1}: ${scheme}// is not available in this version`,
      );
    }
  }
  const stray = strayPort(pd.prefill);
  if (stray !== undefined) {
    problems.push(`${label('prefill')}: entry ${stray} is a bootstrap port that follows no URL`);
  }
  if (routing.dpMinimumTokens && !isServed) {
    problems.push(
      `${label('dp-minimum-tokens-scheduler')}: needs --pd-disaggregation or --enable-igw`,
    );
  }
  return problems;
}
