import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT } from '../../support/program';

/** A block of a page for the shell, and the block behind it that says what it prints. */
export interface Step {
  readonly command: string;
  readonly expected: string;
}

/** Blocks of one section, in order; a block without output is expected to print nothing. */
export function stepsOf(section: string): Step[] {
  const blocks = section.matchAll(/^```sh\n([\s\S]*?)^```$(?:\n\n^```text\n([\s\S]*?)^```$)?/gm);
  return [...blocks].map((match) => ({ command: match[1] ?? '', expected: match[2] ?? '' }));
}

/** What a page says is printed, as a pattern: `…` stands for anything within a line. */
export function patternOf(expected: string): RegExp {
  const escaped = expected.trimEnd().replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll('…', '.*')}$`);
}

/** As much of curl as pages use, on fetch: a machine need not have it. An unknown flag is an error. */
const CURL = `#!/usr/bin/env node
const args = process.argv.slice(2);
const init = { method: undefined, headers: {} };
let url, out = '', fail = false, body;
while (args.length > 0) {
  const arg = args.shift();
  if (arg === '-s') continue;
  else if (arg === '-f') fail = true;
  else if (arg === '-X') init.method = args.shift();
  else if (arg === '-d') body = args.shift();
  else if (arg === '-o') { if (args.shift() !== '/dev/null') process.exit(2); body ??= undefined; init.silent = true; }
  else if (arg === '-w') out = args.shift();
  else if (arg === '-H') {
    const line = args.shift();
    const at = line.indexOf(':');
    init.headers[line.slice(0, at)] = line.slice(at + 1).trim();
  } else if (arg.startsWith('-') || url !== undefined) process.exit(2);
  else url = arg;
}
if (body !== undefined) init.body = body;
init.method ??= body === undefined ? 'GET' : 'POST';
fetch(url, init).then(async (answer) => {
  const text = await answer.text();
  if (fail && !answer.ok) process.exit(22);
  if (!init.silent) process.stdout.write(text);
  process.stdout.write(out.replaceAll('%{http_code}', answer.status).replaceAll('\\\\n', '\\n'));
}, () => process.exit(7));
`;

/** One shell, kept between the blocks of a page, at the root of the repository. */
export class GuideShell {
  private readonly folder = mkdtempSync(join(tmpdir(), 'smg-guide-'));
  private readonly child: ChildProcess;
  private output = '';
  private complaints = '';
  private wake: () => void = () => undefined;
  private steps = 0;

  /** @param limitMs the shell and what it started are killed after as long. */
  constructor(limitMs: number) {
    const curl = join(this.folder, 'curl');
    writeFileSync(curl, CURL);
    chmodSync(curl, 0o755);
    this.child = spawn('sh', ['-s'], {
      cwd: ROOT,
      // A group of its own: what the page leaves running ends with it.
      detached: true,
      env: {
        PATH: [this.folder, process.env['PATH'] ?? ''].join(delimiter),
        TMPDIR: this.folder,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
      this.wake();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.complaints += text;
    });
    this.child.once('close', () => {
      this.wake();
    });
    setTimeout(() => {
      this.close();
    }, limitMs).unref();
  }

  /** What went to the other stream; shells announce there whose process ended. */
  get errors(): string {
    return this.complaints;
  }

  /** @returns what the block printed, without space at its end. */
  async run(command: string): Promise<string> {
    this.steps += 1;
    const mark = `--- end of step ${this.steps} ---\n`;
    this.output = '';
    this.child.stdin?.write(`${command}\nprintf '%s' '${mark.trimEnd()}'; echo\n`);
    while (!this.output.endsWith(mark)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`the shell ended: ${this.output}${this.complaints}`);
      }
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.output.slice(0, -mark.length).trimEnd();
  }

  close(): void {
    const { pid } = this.child;
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // The group has ended by itself.
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
