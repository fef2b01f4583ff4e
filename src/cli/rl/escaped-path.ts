import { RlFailure } from './rl-failure';

/**
 * Text as part of a path. Which ids and paths there may be is for the gateway to say, but a dot segment
 * would be resolved before it is sent. @throws RlFailure for one.
 */
export function escapedSegment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new RlFailure(`'${text}' cannot be part of a path`);
  return encodeURIComponent(text);
}

/** A path of an engine; a slash at the beginning is dropped. */
export function escapedPath(path: string): string {
  return path.replace(/^\//, '').split('/').map(escapedSegment).join('/');
}
