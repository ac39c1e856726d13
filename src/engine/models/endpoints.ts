/** Servers that answer for roles: their keys, which only the environment knows, and what was found of each. */
import { EndpointClient, hostOf } from '../../policy/endpoint/client.ts';
import { EndpointPolicy, messagesContext, type EndpointProbe } from '../../policy/endpoint/endpointPolicy.ts';
import { probeEndpoint } from '../../policy/endpoint/probe.ts';
import { Spending } from '../../policy/endpoint/spending.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { C3Error } from '../../shared/errors.ts';
import type { EndpointSettings, RolePolicies } from '../../shared/rolePolicies.ts';
import type { Renderer } from '../../team/render.ts';

/** By role. */
export type EndpointProbes = Readonly<Record<string, EndpointProbe>>;

/** What answers for the roles that servers answer, and what was found of these. */
export interface OpenEndpoints {
  readonly policies: ReadonlyMap<string, EndpointPolicy>;
  readonly probes: EndpointProbes;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);
const HOST = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/u;

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

/**
 * The key of an address; null where there is none.
 * @throws C3Error('input') where it would go over a network unencrypted
 */
export function keyOf(base: string, environment: Readonly<NodeJS.ProcessEnv>): string | null {
  const variable = keyVariable(base);
  const key = variable === null ? undefined : environment[variable];
  if (variable === null || key === undefined || key === '') {
    return null;
  }
  const { protocol, hostname } = new URL(base);
  if (protocol !== 'https:' && !LOOPBACK.has(hostname)) {
    throw new C3Error(
      'input',
      `The key in ${variable} would be sent to ${hostOf(base)} unencrypted; write https, or unset the variable.`,
    );
  }
  if (!/^[\x21-\x7e]+$/u.test(key)) {
    throw new C3Error('input', `The key in ${variable} has characters that no key has; set it again.`);
  }
  return key;
}

/** What writes the contexts of roles that are asked by messages. */
export const endpointRenderers = (policies: RolePolicies = {}): ReadonlyMap<string, Renderer> =>
  new Map(
    Object.entries(policies).flatMap(([role, one]) =>
      one.kind === 'endpoint' && one.api === 'chat' ? [[role, messagesContext] as const] : [],
    ),
  );

/**
 * Makes ready what answers for the roles that servers answer. Each has a spending limit of its own, from nothing on.
 * @param known what was found before; a server of which nothing is known is asked
 * @throws C3Error where a server does not answer; CancelledError
 */
export async function openEndpoints(
  policies: RolePolicies = {},
  known: EndpointProbes,
  tokenizer: Pick<Tokenizer, 'encode' | 'decode'>,
  signal: AbortSignal,
): Promise<OpenEndpoints> {
  const open = new Map<string, EndpointPolicy>();
  const probes: Record<string, EndpointProbe> = {};
  for (const [role, settings] of Object.entries(policies)) {
    if (settings.kind !== 'endpoint') {
      continue;
    }
    const found = Object.hasOwn(known, role) ? known[role] : undefined;
    const client = clientOf(settings, found?.served_as ?? null);
    const { api, model_name: model, stream } = settings;
    const probe = found ?? (await probeEndpoint(client, { role, api, model, stream }, signal));
    probes[role] = probe;
    open.set(role, new EndpointPolicy({ role, client, api, model, stream, probe, tokenizer }));
  }
  return { policies: open, probes };
}

function clientOf(settings: EndpointSettings, servedAs: string | null): EndpointClient {
  const keys = new Map(settings.endpoint.map((base) => [base, keyOf(base, process.env)]));
  return new EndpointClient({
    bases: settings.endpoint,
    api: settings.api,
    keyOf: (base) => keys.get(base) ?? null,
    concurrency: settings.concurrency,
    perMinute: settings.requests_per_minute,
    retries: settings.retries,
    timeLimit: 1000 * settings.time_limit,
    spending: new Spending(settings.spending, settings.prices),
    servedAs,
  });
}

/** What a run says of the servers that it asked first. */
export const endpointRemarks = (probes: EndpointProbes): readonly string[] =>
  Object.entries(probes).map(
    ([role, { seeds }]) =>
      `The endpoint of the role ${role} ${
        seeds === 'exact'
          ? 'gives equal answers for equal seeds: its messages are replayed exactly as long as it does.'
          : `${seeds === 'none' ? 'does not keep to seeds' : 'did not show that seeds have an effect'}: its messages are sampled, not exact.`
      }`,
  );
