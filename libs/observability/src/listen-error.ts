const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is already in use',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host name is unknown',
};

/** What to tell the operator when a listener of ours cannot start. */
export function listenError(flag: string, host: string, port: number, cause: unknown): Error {
  const code = (cause as { code?: unknown } | null)?.code;
  const name = typeof code === 'string' ? code : 'unknown error';
  const reason = REASONS[name];
  const detail = reason === undefined ? name : `${reason} (${name})`;
  return new Error(`${flag}: cannot listen on ${host} port ${port}: ${detail}`, { cause });
}
