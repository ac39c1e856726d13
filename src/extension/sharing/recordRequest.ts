/** Builds the request to record a program, with the server and the environment of the window. */

import { withoutKeys } from '../../shared/endpointKeys.ts';
import { readAnthropicServer, readAzureServer, readOpenAiServer, hideSecrets } from '../../shared/modelServer.ts';
import type { RecordParams } from '../../shared/protocols/engineProtocol.ts';

/** Matches environment variables of the editor itself, which would affect a program. */
const EDITORS_OWN = /^(?:ELECTRON_|VSCODE_|CHROME_)/iu;

type Environment = Readonly<Partial<Record<string, string>>>;

/**
 * Returns the request for a program. It includes the environment of this window, since the engine
 * serves several windows and has little of it.
 * @param asked the user's answers; a null `upstream` takes the server of the environment
 */
export function createRecordRequest(asked: Omit<RecordParams, 'env'>, env: Environment): RecordParams {
  const variables = Object.entries(withoutKeys({ ...env })).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !EDITORS_OWN.test(entry[0]),
  );
  const { upstream, serve } = asked;
  return {
    ...asked,
    upstream: serve === null ? (upstream ?? readOpenAiServer(env).address) : null,
    env: Object.fromEntries(variables),
  };
}

/** Describes the default server of the calls, and the reason for it. */
export function describeUsualServer(env: Environment): string {
  const { address, isNamed } = readOpenAiServer(env);
  const why = isNamed ? 'as OPENAI_BASE_URL of this window says' : 'since this window has no OPENAI_BASE_URL';
  return `${hideSecrets(address)}, ${why}.`;
}

/** Describes the servers that answer the program, for the last question before it starts. */
export function describeAnsweringServers({
  upstream,
  serve,
  env = {},
}: Pick<RecordParams, 'upstream' | 'serve' | 'env'>): string {
  const usual =
    serve === null ? `its calls go to ${hideSecrets(upstream ?? '')}` : `the team for ${serve} answers on this machine`;
  const others = [
    ['Anthropic’s', readAnthropicServer(env)?.address ?? null],
    ['Azure’s', readAzureServer(env)],
  ] as const;
  const parts = others.flatMap(([whose, address]) =>
    address === null ? [] : [`those of ${whose} clients to ${hideSecrets(address)}`],
  );
  return [usual, ...parts].join(', ');
}
