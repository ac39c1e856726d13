/** Names of the variables with the keys of servers. */

const HOST = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/u;
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Variables that hold keys of servers, and the token of `c3 serve`. */
const SECRET = /^C3_(?:KEY_|SERVE_TOKEN$)/iu;

/** Returns an environment without our keys, for a program of the user's. */
export const withoutKeys = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !SECRET.test(name)));

/** Returns true if an address is on this machine. */
export const isLocal = (base: string): boolean => LOOPBACK.has(new URL(base).hostname);

/** Returns true if a text can be a key, that is, a header can carry it. */
export const isKey = (text: string): boolean => /^[\x21-\x7e]+$/u.test(text);

/**
 * Returns the name of the variable with the key of an address. Host and port are part of the name, so
 * that no configuration can send a key to another server than its owner intended. A dot becomes one
 * underscore, a hyphen two.
 * @returns null for a host that has no such name
 */
export function nameKeyVariable(base: string): string | null {
  const { hostname, port } = new URL(base);
  if (!HOST.test(hostname)) {
    return null;
  }
  const name = hostname.replaceAll('-', '__').replaceAll('.', '_').toUpperCase();
  return `C3_KEY_${name}${port === '' ? '' : `_${port}`}`;
}
