import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** A database server of this machine's packages, for one test file. */
export interface Database {
  readonly url: string;
  /** Stops it in its tracks: connections stay, nothing answers; `false` lets it go on. */
  freeze(isFrozen: boolean): void;
  /** Kills it, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again where it was. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Who a server runs as: PostgreSQL refuses to be root. */
interface Account {
  readonly uid: number;
  readonly gid: number;
}

const START_MS = 20_000;
const PASSWORD = 'p%40ss-do-not-show';

/** Parts of the password, as it is written in the URL and as it is. */
export const DATABASE_SECRETS = [PASSWORD, decodeURIComponent(PASSWORD)] as const;

function executable(names: readonly string[]): string | undefined {
  return names.find((name) => existsSync(name));
}

const inPath = (name: string): string[] =>
  (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));

/** Says why tests are skipped, where there is a reason. */
function sayIfMissing(name: string, found: string | undefined): string | undefined {
  if (found === undefined) process.stderr.write(`skipped: ${name} is not installed\n`);
  return found;
}

/** Folder of PostgreSQL's programs; Debian keeps them out of PATH, one folder for each version. */
export function findPostgres(): string | undefined {
  const base = '/usr/lib/postgresql';
  const versions = existsSync(base) ? readdirSync(base).sort((a, b) => Number(b) - Number(a)) : [];
  const found = executable([
    ...versions.map((version) => join(base, version, 'bin', 'initdb')),
    ...inPath('initdb'),
  ]);
  return sayIfMissing('PostgreSQL', found === undefined ? undefined : join(found, '..'));
}

export function findRedis(): string | undefined {
  const found = executable(['/usr/bin/redis-server', ...inPath('redis-server')]);
  return sayIfMissing('redis-server', found);
}

function account(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number => {
    try {
      return Number(
        execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }),
      );
    } catch {
      return 65_534;
    }
  };
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  });
}

function folderFor(owner: Account | undefined): string {
  const folder = mkdtempSync(join(tmpdir(), 'smg-db-'));
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list === '' ? [] : list.split(' ').map(Number);
}

/** One server process; ready once `isReady` matches what it prints. */
class ServerProcess implements Database {
  private child: ChildProcess | undefined;

  constructor(
    readonly url: string,
    private readonly folder: string,
    private readonly command: readonly [file: string, ...args: string[]],
    private readonly isReady: RegExp,
    private readonly owner: Account | undefined,
  ) {}

  async restart(): Promise<void> {
    const [file, ...args] = this.command;
    const child = spawn(file, args, {
      ...this.owner,
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    let printed = '';
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`${file} did not start: ${printed}`));
      }, START_MS);
      const see = (chunk: Buffer): void => {
        printed = (printed + chunk.toString()).slice(-20_000);
        if (!this.isReady.test(printed)) return;
        clearTimeout(timer);
        resolve();
      };
      child.stdout.on('data', see);
      child.stderr.on('data', see);
      child.on('error', reject);
      child.on('exit', () => {
        clearTimeout(timer);
        reject(new Error(`${file} ended: ${printed}`));
      });
    });
  }

  freeze(isFrozen: boolean): void {
    const pid = this.child?.pid;
    if (pid === undefined) return;
    const signal = isFrozen ? 'SIGSTOP' : 'SIGCONT';
    // PostgreSQL serves each connection by a process of its own.
    for (const it of [pid, ...childrenOf(pid)]) process.kill(it, signal);
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  async stop(): Promise<void> {
    // Fast shutdown of PostgreSQL; Redis takes it for an end like any other.
    await this.end('SIGINT');
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => {
      child.once('exit', () => {
        resolve();
      });
    });
    child.kill(signal);
    await gone;
  }
}

/** @param bin what {@link findPostgres} found. */
export async function startPostgres(bin: string): Promise<Database> {
  const owner = account();
  const folder = folderFor(owner);
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, decodeURIComponent(PASSWORD));
  if (owner !== undefined) chownSync(passwordFile, owner.uid, owner.gid);
  const auth = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const options = ['-D', data, '-U', 'smg', ...auth, '--no-sync', '-E', 'UTF8'];
  execFileSync(join(bin, 'initdb'), options, { ...owner, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const server = new ServerProcess(
    `postgres://smg:${PASSWORD}@127.0.0.1:${port}/postgres`,
    folder,
    [
      join(bin, 'postgres'),
      ...['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', folder, '-F'],
    ],
    /database system is ready to accept connections/,
    owner,
  );
  await server.restart();
  return server;
}

/** @param file what {@link findRedis} found. */
export async function startRedis(file: string): Promise<Database> {
  const owner = account();
  const folder = folderFor(owner);
  const port = await freePort();
  const server = new ServerProcess(
    `redis://:${PASSWORD}@127.0.0.1:${port}`,
    folder,
    [
      file,
      ...['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', ''],
      ...['--requirepass', decodeURIComponent(PASSWORD), '--appendonly', 'yes'],
    ],
    /[Rr]eady to accept connections/,
    owner,
  );
  await server.restart();
  return server;
}
