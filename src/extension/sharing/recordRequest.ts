/** How a window asks its engine to record a program: with the server and the environment of the window. */
import { withoutKeys } from '../../shared/endpointKeys.ts';
import { anthropicServer, azureServer, serverOf, shownAddress } from '../../shared/modelServer.ts';
import type { RecordParams } from '../../shared/protocols/engineProtocol.ts';

/** What of the editor's own is in its environment, and would change a program that gets it. */
const EDITORS_OWN = /^(?:ELECTRON_|VSCODE_|CHROME_)/iu;

type Environment = Readonly<Partial<Record<string, string>>>;

/**
 * The request for a program. An engine has little of the environment of the window that started it, and serves others
 * too: what the program is to have of this one goes with the request.
 * @param asked what the user was asked for; `upstream` null where the window's environment says it
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

/** Where the calls go unless the user names another server, and why. */
export function usualServer(env: Environment): string {
  const { address, isNamed } = serverOf(env);
  const why = isNamed ? 'as OPENAI_BASE_URL of this window says' : 'since this window has no OPENAI_BASE_URL';
  return `${shownAddress(address)}, ${why}.`;
}

/** Who answers the program, for the question before it starts. */
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
