import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf } from './engine-outcome';
import { fetchRows, type EngineRow } from './engine-rows';
import { fanoutLines } from './fanout-report';
import { escapedSegment } from './escaped-path';
import { inParallel } from './in-parallel';
import { plainText, plainValue } from './plain-text';
import { type ProgressBar } from './progress-bar';
import { refitVerbs, type EngineCall, type RefitOrder, type RefitVerbs } from './refit-verbs';
import { refusalOf, type RlClient } from './rl-client';
import { EXIT, RlFailure } from './rl-failure';

/** What became of a step of one engine. */
export type RefitStep = 'ok' | 'skipped' | `failed: ${string}`;

/** One engine of a refit. */
export interface RefitLine {
  readonly id: string;
  readonly url: string;
  readonly engine: string;
  pause: RefitStep;
  load: RefitStep;
  /** Of the engine's own call, in milliseconds. */
  loadMs: number | null;
  resume: RefitStep;
  /** As the gateway has it in the end. */
  version: string | null;
  control: string | null;
}

export interface RefitOptions extends RefitOrder {
  readonly selector: string;
  /** Engines worked on at a time. */
  readonly concurrency: number;
  /** Leave engines paused whose load failed: what is in their memory is unknown. */
  readonly keepFailedPaused: boolean;
}

interface Target {
  readonly line: RefitLine;
  readonly verbs: RefitVerbs;
}

/** A resume is worth more than one try: an engine that stays paused is out of the fleet. */
const RESUME_TRIES = 3;
const RESUME_PAUSE_MS = 1000;
/** pause, load, resume. */
export const STEPS_PER_ENGINE = 3;

/** Pauses engines, has them load a checkpoint, resumes them. */
export class RefitRun {
  private targets: readonly Target[] = [];
  private progress: ProgressBar | undefined;

  constructor(
    private readonly client: RlClient,
    private readonly options: RefitOptions,
    /** Ends everything but the resume. */
    private readonly interrupt: AbortSignal,
  ) {}

  /**
   * Finds out who is meant, and asks each whether it is there. Nobody is paused yet.
   * @returns how many they are. @throws RlFailure when one is not there or cannot be refitted.
   */
  async prepare(): Promise<number> {
    const params = [['selector', this.options.selector] as const];
    const lines = fanoutLines(
      await this.client.send({
        ...{ method: 'GET', path: '/engine/health', params },
        signal: this.interrupt,
      }),
    );
    const absent = lines.filter(({ problem }) => problem !== undefined);
    if (absent.length > 0) {
      const names = absent.map(({ url, problem }) => `\n  ${plainText(url)}: ${problem ?? ''}`);
      throw new RlFailure(
        `nothing was paused, as not all engines are well:${names.join('')}`,
        EXIT.engines,
      );
    }
    const rows = new Map(
      (await fetchRows(this.client, this.interrupt)).map((row) => [row['id'], row]),
    );
    this.targets = lines.map(({ id, url }) => targetOf(id, url, rows.get(id)));
    return this.targets.length;
  }

  /** Always resumes whom it paused. @returns a line per engine. */
  async run(progress: ProgressBar): Promise<readonly RefitLine[]> {
    this.progress = progress;
    const { targets } = this;
    await this.each(targets, 'pause', async (target) => this.pause(target));
    if (targets.every(({ line }) => line.pause === 'ok') && !this.interrupt.aborted) {
      await this.each(targets, 'load', async (target) => this.load(target));
    }
    const { keepFailedPaused } = this.options;
    const resumed = targets.filter(
      ({ line }) =>
        line.pause !== 'skipped' && !(keepFailedPaused && line.load.startsWith('failed')),
    );
    await this.each(resumed, 'resume', async (target) => this.resume(target));
    await this.readBack();
    return targets.map(({ line }) => line);
  }

  private each(
    targets: readonly Target[],
    step: 'pause' | 'load' | 'resume',
    work: (target: Target) => Promise<void>,
  ): Promise<void> {
    return inParallel(targets, this.options.concurrency, async (target) => {
      if (step !== 'resume' && this.interrupt.aborted) return;
      const { line } = target;
      try {
        await work(target);
        line[step] = 'ok';
      } catch (error) {
        const why = this.interrupt.aborted && step !== 'resume' ? 'interrupted' : messageOf(error);
        line[step] = `failed: ${why}`;
      }
      this.progress?.step(`${line.url}: ${step} ${line[step]}`);
    });
  }

  private async pause({ line, verbs }: Target): Promise<void> {
    await this.call(line.id, verbs.pause(this.options), this.interrupt);
  }

  private async load({ line, verbs }: Target): Promise<void> {
    for (const call of verbs.load(this.options)) {
      const ms = await this.call(line.id, call, this.interrupt);
      line.loadMs = (line.loadMs ?? 0) + ms;
    }
    if (verbs.tellsVersion) return;
    const answer = await this.client.send({
      method: 'POST',
      path: `/workers/${escapedSegment(line.id)}/version`,
      body: JSON.stringify({ weight_version: this.options.weightVersion }),
    });
    if (answer.status !== 200) throw new RlFailure(refusalOf(answer));
  }

  private async resume({ line, verbs }: Target): Promise<void> {
    for (let left = RESUME_TRIES - 1; ; left -= 1) {
      try {
        await this.call(line.id, verbs.resume);
        return;
      } catch (error) {
        if (left === 0) throw error;
        await sleep(RESUME_PAUSE_MS);
      }
    }
  }

  /** @returns milliseconds it took the engine. @throws RlFailure unless it did it. */
  private async call(id: string, call: EngineCall, signal?: AbortSignal): Promise<number> {
    const answer = await this.client.send({
      method: 'POST',
      path: `/workers/${escapedSegment(id)}/engine/${call.path}`,
      params: call.params ?? [],
      body: JSON.stringify(call.body),
      signal,
    });
    const outcome = outcomeOf(answer.json);
    if (outcome === undefined) throw new RlFailure(refusalOf(answer));
    if (outcome.problem !== undefined) throw new RlFailure(outcome.problem);
    return outcome.latencyMs;
  }

  private async readBack(): Promise<void> {
    try {
      const rows = new Map((await fetchRows(this.client)).map((row) => [row['id'], row]));
      for (const { line } of this.targets) {
        line.version = textIn(rows.get(line.id), 'weight_version');
        line.control = textIn(rows.get(line.id), 'control');
      }
    } catch (error) {
      // The lines say `-` then, which is not the version that was wanted.
      this.progress?.say(`cannot read the versions: ${messageOf(error)}`);
    }
  }
}

/** Whether an engine is as it should be. */
export function isRefitted(line: RefitLine, weightVersion: string): boolean {
  const { pause, load, resume, version, control } = line;
  const didAll = pause === 'ok' && load === 'ok' && resume === 'ok';
  return didAll && version === weightVersion && control === 'active';
}

function targetOf(id: string, url: string, row: EngineRow | undefined): Target {
  const verbs = refitVerbs(row?.['engine']);
  const engine = plainValue(row?.['engine']);
  if (verbs === undefined) {
    throw new RlFailure(
      `${plainText(url)}: it is not known how an engine of kind ${engine} loads weights from disk; nothing was paused`,
    );
  }
  const line: RefitLine = {
    ...{ id, url, engine, loadMs: null, version: null, control: null },
    ...{ pause: 'skipped', load: 'skipped', resume: 'skipped' },
  };
  return { line, verbs };
}

function textIn(row: EngineRow | undefined, member: string): string | null {
  const value = row?.[member];
  return typeof value === 'string' ? value : null;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
