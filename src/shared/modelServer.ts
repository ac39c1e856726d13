/** The servers that a program of the user's asks by default. */

type Environment = Readonly<Partial<Record<string, string>>>;

/** Base address of a server; `isNamed` is true if an environment variable sets it. */
export interface NamedServer {
  readonly address: string;
  readonly isNamed: boolean;
}

const chooseServer = (named: string | undefined, usual: string): NamedServer => {
  const address = named?.trim() ?? '';
  return { address: address === '' ? usual : address, isNamed: address !== '' };
};

/** Returns the server of OpenAI's clients. */
export const readOpenAiServer = (env: Environment): NamedServer =>
  chooseServer(env['OPENAI_BASE_URL'], 'https://api.openai.com/v1');

/** Returns the server of Anthropic's clients, or null if the variable is not a valid address. */
export function readAnthropicServer(env: Environment): NamedServer | null {
  const server = chooseServer(env['ANTHROPIC_BASE_URL'], 'https://api.anthropic.com');
  return isServerAddress(server.address) ? server : null;
}

/** Returns the address of the user's Azure resource, or null if the environment has none. */
export function readAzureServer(env: Environment): string | null {
  const address = env['AZURE_OPENAI_ENDPOINT']?.trim() ?? '';
  return isServerAddress(address) ? address : null;
}

/** Returns true if a text is the address of an HTTP server. */
export const isServerAddress = (text: string): boolean => /^https?:$/u.test(URL.parse(text)?.protocol ?? '');

/** Returns an address for display, without its secrets. */
export function hideSecrets(address: string): string {
  const url = URL.parse(address);
  return url === null
    ? address
    : `${url.origin === 'null' ? url.protocol : url.origin}${url.pathname === '/' ? '' : url.pathname}`;
}
