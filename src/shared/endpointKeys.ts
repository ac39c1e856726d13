/** Names of the keys of servers. */

const HOST = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/u;
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Variables that hold keys of servers, and the token of `c3 serve`. */
const SECRET = /^C3_(?:KEY_|SERVE_TOKEN$)/iu;

/** An environment for a program of the user's, which has no use for our keys. */
export const withoutKeys = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !SECRET.test(name)));

/** Whether an address is on this machine. */
export const isLocal = (base: string): boolean => LOOPBACK.has(new URL(base).hostname);

/** Whether a text can be a key: one that a header can carry. */
export const isKey = (text: string): boolean => /^[\x21-\x7e]+$/u.test(text);

/**
 * The variable that has the key of an address: its host and port are part of the name, so that no configuration can
 * send a key anywhere but where its owner meant it to go. A dot is one line, a hyphen two.
 * @returns null for a host that has no such name
 */
export function keyVariable(base: string): string | null {
  const { hostname, port } = new URL(base);
  if (!HOST.test(hostname)) {
    return null;
  }
  const name = hostname.replaceAll('-', '__').replaceAll('.', '_').toUpperCase();
  return `C3_KEY_${name}${port === '' ? '' : `_${port}`}`;
}
