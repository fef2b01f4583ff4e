import { policyParameters } from '@smg/testing';
import { CachedPrefixes } from './cached-prefixes';
import { Placements } from './placements';

const LIMITS = { maxCharacters: 20_000 };

function setUp() {
  const now = () => 0;
  const parameters = policyParameters({ maxTreeSize: LIMITS.maxCharacters, blockSize: 1 });
  return new CachedPrefixes(parameters, now, new Placements(now));
}

describe('what inserts bring between two timed evictions', () => {
  it('stays under the limits when texts form chains over many workers', () => {
    const prefixes = setUp();
    const prompt = Buffer.alloc(600, 'x');
    let fullest = 0;
    for (let turn = 0; turn < 12_000; turn++) {
      prompt.writeUInt16BE(0x6161 + Math.floor(turn / 600), 0);
      prefixes.insertText(prompt.subarray(0, (turn % 600) + 1), `w${turn % 64}`);
      fullest = Math.max(fullest, prefixes.text.fullness(LIMITS));
    }
    expect(fullest).toBeGreaterThan(1);
    expect(fullest).toBeLessThan(1.5);
  });

  it('does as well for token ids', () => {
    const prefixes = setUp();
    let fullest = 0;
    for (let turn = 0; turn < 6_000; turn++) {
      const chain = Math.floor(turn / 300);
      const tokens = Array.from({ length: (turn % 300) + 1 }, (_, at) => (at === 0 ? chain : 7));
      prefixes.insertTokens(tokens, `w${turn % 64}`);
      fullest = Math.max(fullest, prefixes.tokens.fullness(LIMITS));
    }
    expect(fullest).toBeGreaterThan(1);
    expect(fullest).toBeLessThan(1.5);
  });
});
