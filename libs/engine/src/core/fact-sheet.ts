import { type EngineFacts } from '@smg/plugin-api';
import { asObject, labelText, positiveInt, stringList } from './answers';

/**
 * Context length of a model, by the first of these names that an engine reports.
 * Source: SMG contract 3.6.
 */
const CONTEXT_KEYS = [
  'context_length',
  'max_context_length',
  'max_model_len',
  'max_total_tokens',
  'max_seq_len',
] as const;

/** What every text model can be asked; the names appear on the model card. */
const LLM_CAPABILITIES = ['chat', 'completions', 'responses', 'generate', 'tools'] as const;

/** Collects what an engine's answers say; the first answer that names a label keeps it. */
export class FactSheet {
  readonly #labels: Record<string, string> = {};
  readonly #context = new Map<string, number>();
  #architectures: readonly string[] | undefined;

  /** Takes the named members of an answer as labels; renames `[from, to]` pairs. */
  take(json: unknown, names: readonly (string | readonly [from: string, to: string])[]): void {
    const answer = asObject(json);
    if (answer === undefined) return;
    for (const name of names) {
      const [from, to] = typeof name === 'string' ? [name, name] : name;
      const text = labelText(answer[from]);
      if (text !== undefined) this.#labels[to] ??= text;
    }
    for (const key of CONTEXT_KEYS) {
      const length = positiveInt(answer[key]);
      if (length !== undefined && !this.#context.has(key)) this.#context.set(key, length);
    }
    this.#architectures ??= stringList(answer['architectures']);
  }

  label(name: string): string | undefined {
    return this.#labels[name];
  }

  finish(): EngineFacts {
    const contextLength = CONTEXT_KEYS.map((key) => this.#context.get(key)).find(
      (length) => length !== undefined,
    );
    return {
      labels: { ...this.#labels },
      modelType: this.#capabilities(),
      ...(contextLength === undefined ? {} : { contextLength }),
      ...(this.#architectures === undefined ? {} : { architectures: this.#architectures }),
    };
  }

  #capabilities(): readonly string[] {
    const labels = this.#labels;
    if (labels['is_embedding'] === 'true' || labels['is_generation'] === 'false') {
      return ['embeddings'];
    }
    const vision = labels['has_image_understanding'] === 'true' ? ['vision'] : [];
    return [...LLM_CAPABILITIES, ...vision];
  }
}
