/** The servers that a program of the user's asks where nobody names others. */

type Environment = Readonly<Partial<Record<string, string>>>;

/** Base address of a server, and whether an environment names it. */
export interface NamedServer {
  readonly address: string;
  readonly isNamed: boolean;
}

const orUsual = (named: string | undefined, usual: string): NamedServer => {
  const address = named?.trim() ?? '';
  return { address: address === '' ? usual : address, isNamed: address !== '' };
};

/** The server of OpenAI's clients. */
export const serverOf = (env: Environment): NamedServer => orUsual(env['OPENAI_BASE_URL'], 'https://api.openai.com/v1');

/** The server of Anthropic's clients; null where the environment has what is no address. */
export function anthropicServer(env: Environment): NamedServer | null {
  const server = orUsual(env['ANTHROPIC_BASE_URL'], 'https://api.anthropic.com');
  return isServerAddress(server.address) ? server : null;
}

/** The address of the user's Azure resource; null where the environment names none. */
export function azureServer(env: Environment): string | null {
  const address = env['AZURE_OPENAI_ENDPOINT']?.trim() ?? '';
  return isServerAddress(address) ? address : null;
}

/** Whether a text is the address of a server of HTTP. */
export const isServerAddress = (text: string): boolean => /^https?:$/u.test(URL.parse(text)?.protocol ?? '');

/** An address as people may see it: what is secret in one is not shown. */
export function shownAddress(address: string): string {
  const url = URL.parse(address);
  return url === null
    ? address
    : `${url.origin === 'null' ? url.protocol : url.origin}${url.pathname === '/' ? '' : url.pathname}`;
}
