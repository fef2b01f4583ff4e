/** Characters of a prompt, and of the part it shares with others. */
export const PROMPT_LENGTH = 8_192;
const SYSTEM_LENGTH = 2_048;
/** Where a conversation that goes on departs from what was sent before. */
const KNOWN_LENGTH = 6_144;
const SYSTEM_PROMPTS = 200;
const CONVERSATIONS = 1_024;
export const TENANTS: readonly string[] = Array.from(
  { length: 64 },
  (_, i) => `http://engine-${i}:8000`,
);

/**
 * Prompts as a gateway sees them: half go on with a conversation it knows three quarters of, half are
 * new under one of 200 system prompts. Each is unlike any before. The same in every run.
 */
export class PromptSource {
  private state = 7;
  private turn = 0;
  private readonly systems = Array.from({ length: SYSTEM_PROMPTS }, () => this.text(SYSTEM_LENGTH));
  /** Written over in place: making a prompt costs little beside what is measured. */
  private readonly prompts = Array.from({ length: CONVERSATIONS }, (_, i) =>
    Buffer.concat([this.systems[i % SYSTEM_PROMPTS]!, this.text(PROMPT_LENGTH - SYSTEM_LENGTH)]),
  );

  next(): Buffer {
    const turn = this.turn++;
    const prompt = this.prompts[(turn * 19) % CONVERSATIONS]!;
    const from = turn % 2 === 0 ? SYSTEM_LENGTH : KNOWN_LENGTH;
    prompt.writeUInt32BE(0x6161_6161 + (turn & 0x0f0f_0f0f), from);
    prompt.write((turn % 60_466_176).toString(36).padStart(6, '0'), from + 4, 'latin1');
    return prompt;
  }

  tenant(): string {
    return TENANTS[this.random() % TENANTS.length]!;
  }

  private text(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let i = 0; i < length; i += 1) bytes[i] = 97 + (this.random() % 26);
    return bytes;
  }

  private random(): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return this.state >>> 0;
  }
}
