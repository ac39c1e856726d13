/** The server that a program of the user's asks where nobody names another one. */

const USUAL = 'https://api.openai.com/v1';

/** Base address of the server that an environment names, and whether it names one. */
export function serverOf(env: Readonly<Partial<Record<string, string>>>): {
  readonly address: string;
  readonly isNamed: boolean;
} {
  const named = env['OPENAI_BASE_URL']?.trim() ?? '';
  return { address: named === '' ? USUAL : named, isNamed: named !== '' };
}

/** Whether a text is the address of a server of HTTP. */
export const isServerAddress = (text: string): boolean => /^https?:$/u.test(URL.parse(text)?.protocol ?? '');

/** An address as people may see it: what is secret in one is not shown. */
export function shownAddress(address: string): string {
  const url = URL.parse(address);
  return url === null ? address : `${url.origin === 'null' ? url.protocol : url.origin}${url.pathname}`;
}
