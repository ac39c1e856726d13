/** Builds the request to record a program, with the server and the environment of the window. */
import { withoutKeys } from '../../shared/endpointKeys.ts';
import { anthropicServer, azureServer, serverOf, shownAddress } from '../../shared/modelServer.ts';
import type { RecordParams } from '../../shared/protocols/engineProtocol.ts';

/** Matches environment variables of the editor itself, which would affect a program. */
const EDITORS_OWN = /^(?:ELECTRON_|VSCODE_|CHROME_)/iu;

type Environment = Readonly<Partial<Record<string, string>>>;

/**
 * Returns the request for a program. It includes the environment of this window, since the engine
 * serves several windows and has little of it.
 * @param asked the user's answers; a null `upstream` takes the server of the environment
 */
export function recordRequest(asked: Omit<RecordParams, 'env'>, env: Environment): RecordParams {
  const variables = Object.entries(withoutKeys({ ...env })).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !EDITORS_OWN.test(entry[0]),
  );
  const { upstream, serve } = asked;
  return {
    ...asked,
    upstream: serve === null ? (upstream ?? serverOf(env).address) : null,
    env: Object.fromEntries(variables),
  };
}

/** Describes the default server of the calls, and the reason for it. */
export function usualServer(env: Environment): string {
  const { address, isNamed } = serverOf(env);
  const why = isNamed ? 'as OPENAI_BASE_URL of this window says' : 'since this window has no OPENAI_BASE_URL';
  return `${shownAddress(address)}, ${why}.`;
}

/** Describes the servers that answer the program, for the last question before it starts. */
export function answeredBy({ upstream, serve, env = {} }: Pick<RecordParams, 'upstream' | 'serve' | 'env'>): string {
  const usual =
    serve === null
      ? `its calls go to ${shownAddress(upstream ?? '')}`
      : `the team for ${serve} answers on this machine`;
  const others = [
    ['Anthropic’s', anthropicServer(env)?.address ?? null],
    ['Azure’s', azureServer(env)],
  ] as const;
  const parts = others.flatMap(([whose, address]) =>
    address === null ? [] : [`those of ${whose} clients to ${shownAddress(address)}`],
  );
  return [usual, ...parts].join(', ');
}
