import { parseUrl } from '@smg/protocol';
import { RlFailure } from './rl-failure';

const DEFAULT_URL = 'http://127.0.0.1:30000';

/** Flags that every `smg rl` command has. */
export interface CommonFlags {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly timeout: number;
  readonly json?: boolean;
}

export interface RlEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** @throws whatever the file system throws. */
  readonly readFile: (path: string) => string;
}

export interface RlSettings {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string | undefined;
  readonly timeoutMs: number;
}

/** @throws RlFailure; no message holds the token. */
export function readSettings(flags: CommonFlags, { env, readFile }: RlEnvironment): RlSettings {
  const token =
    flags.tokenFile === undefined
      ? checkedToken(env['SMG_ADMIN_TOKEN'], 'SMG_ADMIN_TOKEN')
      : checkedToken(tokenOf(flags.tokenFile, readFile), '--token-file');
  return {
    url: checkedUrl(flags.url ?? given(env['SMG_URL']) ?? DEFAULT_URL),
    token,
    timeoutMs: flags.timeout * 1000,
  };
}

/** An empty variable counts as unset. */
const given = (word: string | undefined): string | undefined => (word === '' ? undefined : word);

function tokenOf(path: string, readFile: RlEnvironment['readFile']): string {
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    const { code = 'unreadable' } = error as { code?: string };
    throw new RlFailure(`--token-file ${JSON.stringify(path)}: ${code}`);
  }
  const token = text.trim();
  if (token === '') throw new RlFailure(`--token-file ${JSON.stringify(path)}: is empty`);
  return token;
}

function checkedToken(token: string | undefined, source: string): string | undefined {
  if (token === undefined || token === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new RlFailure(`${source}: a token is one word of printable ASCII characters`);
  }
  return token;
}

function checkedUrl(text: string): string {
  const url = parseUrl(text);
  // Not shown: there may be a password in it.
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw new RlFailure('--url: has credentials in it; give the token in SMG_ADMIN_TOKEN');
  }
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    throw new RlFailure('--url: is not http(s)://host[:port][/path]');
  }
  return url.href.replace(/\/+$/, '');
}
