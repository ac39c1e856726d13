/** Servers that answer for roles: their keys, their probes, and the spending at them. */

import { maskText } from '../../logs/secrets.ts';
import { EndpointClient, readAddressHost } from '../../policy/endpoint/client.ts';
import { EndpointPolicy, writeMessagesContext, type EndpointProbe } from '../../policy/endpoint/endpointPolicy.ts';
import { exchange, type Exchange } from '../../policy/endpoint/exchange.ts';
import { EndpointFailure } from '../../policy/endpoint/failure.ts';
import { LongWaits, SILENT_WAIT } from '../../policy/endpoint/longWaits.ts';
import { probeEndpoint } from '../../policy/endpoint/probe.ts';
import type { Reply } from '../../policy/endpoint/reply.ts';
import { Spending, type SpendingLimit } from '../../policy/endpoint/spending.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { NOTHING_SPENT, type ServerCost, type SpentSoFar } from '../../shared/endpointCost.ts';
import { isKey, isLocal, nameKeyVariable } from '../../shared/endpointKeys.ts';
import { C3Error, type ErrorAction } from '../../shared/errors.ts';
import { LONGEST_WAIT, type AskWait } from '../../shared/longWait.ts';
import { isServed, type EndpointSettings, type RolePolicies, type ServedSettings } from '../../shared/rolePolicies.ts';
import type { StoreWriter } from '../../store/types.ts';
import type { Renderer } from '../../team/render.ts';
import { toClientLimits } from './clientLimits.ts';
import { EditorWindows } from './editorWindows.ts';

/** Returns the milliseconds to wait without asking the user. Ignores values that are not seconds. */
function readSilentWait({ [LONGEST_WAIT]: given = '' }: Readonly<NodeJS.ProcessEnv>): number {
  return /^\d{1,9}$/u.test(given) ? 1000 * Number(given) : SILENT_WAIT;
}

/** Probes by role. */
export type EndpointProbes = Readonly<Record<string, EndpointProbe>>;

/** Actions that open the line of a role's endpoint in the configuration, by role. */
export type EndpointPlaces = Readonly<Record<string, ErrorAction>>;

/** The policies of the roles that servers answer, and their probes. */
export interface OpenEndpoints {
  readonly policies: ReadonlyMap<string, EndpointPolicy>;
  readonly probes: EndpointProbes;
}

/**
 * Returns the key of an address, or null.
 * @throws C3Error('input') if the key would be sent over a network unencrypted
 */
export function findEndpointKey(base: string, environment: Readonly<NodeJS.ProcessEnv>): string | null {
  const variable = nameKeyVariable(base);
  const key = variable === null ? undefined : environment[variable];
  if (variable === null || key === undefined || key === '') {
    return null;
  }
  const { protocol } = new URL(base);
  if (protocol !== 'https:' && !isLocal(base)) {
    throw new C3Error(
      'input',
      `The key in ${variable} would be sent to ${readAddressHost(base)} unencrypted; write https, or unset the variable.`,
    );
  }
  if (!isKey(key)) {
    throw new C3Error('input', `The key in ${variable} has characters that a key cannot have; set it again.`);
  }
  return key;
}

/** Returns the renderers of the contexts of roles whose servers take messages. */
export const createEndpointRenderers = (policies: RolePolicies = {}): ReadonlyMap<string, Renderer> =>
  new Map(
    Object.entries(policies).flatMap(([role, one]) =>
      one.kind === 'vscode' || (one.kind === 'endpoint' && one.api === 'chat')
        ? [[role, writeMessagesContext] as const]
        : [],
    ),
  );

/** The part of a store that keeps the spending of a run and its replays. */
type SpendingStore = Pick<StoreWriter, 'spent' | 'insertSpending'>;

/** Counts the spending of a run and its replays, including the time before the run is stored. */
export class SpendingAccount {
  private place: { readonly store: SpendingStore; readonly run: string } | null = null;
  private readonly waiting: (readonly [role: string, cost: ServerCost])[] = [];

  /** Sets the run after its row is stored, and stores the spending so far. */
  begin(store: SpendingStore, run: string): void {
    this.place = { store, run };
    for (const [role, cost] of this.waiting.splice(0)) {
      store.insertSpending(run, role, cost);
    }
  }

  note(role: string, cost: ServerCost): void {
    if (this.place === null) {
      this.waiting.push([role, cost]);
    } else {
      this.place.store.insertSpending(this.place.run, role, cost);
    }
  }

  /** Returns the stored spending of the run. */
  before(role: string): SpentSoFar {
    return this.place?.store.spent(this.place.run, role) ?? NOTHING_SPENT;
  }
}

export interface OpeningEndpoints {
  readonly policies: RolePolicies | undefined;
  readonly places?: EndpointPlaces | undefined;
  /** Results of earlier probes; servers without one are probed. */
  readonly known: EndpointProbes;
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>;
  /** Account that counts the spending. */
  readonly account: SpendingAccount;
  /** Limits that override those of the configuration; missing ones do not. */
  readonly limit?: Partial<SpendingLimit>;
  /** Keys of the product's own servers, by address; they override those of the environment. */
  readonly keys?: ReadonlyMap<string, string>;
}

/** The servers that an engine asks, with their keys, and the spending of each run. */
export class Endpoints {
  /** Windows that ask the chat models of VS Code. */
  readonly windows = new EditorWindows();
  /** Asks the user about a long wait: in a window, unless a terminal can be asked. */
  askWait: AskWait = (wait, signal) => this.windows.askWait(wait, signal);
  private readonly waits = new LongWaits((wait, signal) => this.askWait(wait, signal), readSilentWait(process.env));
  /** Keys that a window supplied, by the names of their variables. They are in memory only. */
  private offered: Readonly<Record<string, string>> = {};
  /** One for each role of a run, shared by the run and its replays, which may spend at the same time. */
  private readonly spendings = new WeakMap<SpendingAccount, Map<string, Spending>>();
  private readonly accounts = new Map<string, SpendingAccount>();

  /** Replaces the keys that the user keeps in the editor. */
  offer(keys: Readonly<Record<string, string>>): void {
    this.offered = { ...keys };
  }

  /** Returns the account of a stored run; it is shared by all callers. */
  account(store: SpendingStore, run: string): SpendingAccount {
    const account = this.accounts.get(run) ?? new SpendingAccount();
    this.accounts.set(run, account);
    account.begin(store, run);
    return account;
  }

  /** Registers the account of a new run after its row is stored. */
  begun(account: SpendingAccount, store: SpendingStore, run: string): void {
    this.accounts.set(run, account);
    account.begin(store, run);
  }

  /**
   * Opens the policies of all roles that servers answer. Each has a spending limit for the run and its
   * replays together.
   * @throws C3Error if a server does not answer; CancelledError
   */
  async open(opening: OpeningEndpoints, signal: AbortSignal): Promise<OpenEndpoints> {
    const { policies = {}, places = {}, known, tokenizer } = opening;
    const open = new Map<string, EndpointPolicy>();
    const probes: Record<string, EndpointProbe> = {};
    for (const [role, settings] of Object.entries(policies)) {
      if (!isServed(settings)) {
        continue;
      }
      const found = Object.hasOwn(known, role) ? known[role] : undefined;
      const spending = this.spending(role, settings, opening);
      if (settings.kind === 'vscode') {
        const { client, probe } = await this.windows.client(role, settings, found, spending, signal);
        probes[role] = probe;
        const model = probe.served_as ?? '';
        open.set(role, new EndpointPolicy({ role, client, api: 'chat', model, stream: false, probe, tokenizer }));
        continue;
      }
      const client = this.client(settings, found?.served_as ?? null, spending, opening.keys);
      const { api, model_name: model, stream } = settings;
      const place = Object.hasOwn(places, role) ? places[role] : undefined;
      const probe = found ?? (await probeEndpoint(client, { role, api, model, stream, place }, signal));
      probes[role] = probe;
      open.set(role, new EndpointPolicy({ role, client, api, model, stream, probe, place, tokenizer }));
    }
    return { policies: open, probes };
  }

  private spending(role: string, settings: ServedSettings, { account, limit }: OpeningEndpoints): Spending {
    const own = this.spendings.get(account) ?? new Map<string, Spending>();
    this.spendings.set(account, own);
    const wanted = { ...settings.spending, ...limit };
    const spending = own.get(role) ?? new Spending(wanted, (cost) => account.note(role, cost));
    own.set(role, spending);
    spending.continueFrom(account.before(role), wanted);
    return spending;
  }

  private client(
    settings: EndpointSettings,
    servedAs: string | null,
    spending: Spending,
    own: OpeningEndpoints['keys'],
  ): EndpointClient {
    const known = { ...process.env, ...this.offered };
    const keys = new Map(settings.endpoint.map((base) => [base, own?.get(base) ?? findEndpointKey(base, known)]));
    return new EndpointClient({
      bases: settings.endpoint,
      api: settings.api,
      keyOf: (base) => keys.get(base) ?? null,
      ...toClientLimits(settings),
      spending,
      servedAs,
      waits: this.waits,
      exchange: exchangeWithoutKey,
    });
  }
}

/** Returns remarks on the seeds of the servers that a run probed. */
export const describeEndpointSeeds = (probes: EndpointProbes): readonly string[] =>
  Object.entries(probes).map(
    ([role, { seeds }]) =>
      `The endpoint of the role ${role} ${
        seeds === 'exact'
          ? 'gives equal answers for equal seeds: its messages are replayed exactly as long as it does.'
          : `${seeds === 'none' ? 'does not keep to seeds' : 'did not show that seeds have an effect'}: its messages are sampled, not exact.`
      }`,
  );

// Keys that a server repeats are removed from its answers before these are stored or shown.

const MASK = '***';
/** Minimum characters of a key; shorter ones, such as `none` or `EMPTY`, are placeholders. */
const MIN_KEY_CHARACTERS = 8;

/**
 * Sends one request, as `exchange` does. The sent key is removed from the answer, and texts that look
 * like keys from the message of a failure.
 * @param ask sends the request; default: over HTTP
 * @throws EndpointFailure; CancelledError
 */
export async function exchangeWithoutKey(
  request: Exchange,
  signal: AbortSignal,
  ask: typeof exchange = exchange,
): Promise<Reply> {
  const { key } = request;
  try {
    const reply = await ask(request, signal);
    return key === null || key.length < MIN_KEY_CHARACTERS ? reply : removeKey(reply, key);
  } catch (error) {
    if (error instanceof EndpointFailure) {
      throw new EndpointFailure(error.kind, maskText(error.message).text, error);
    }
    throw error;
  }
}

function removeKey(reply: Reply, key: string): Reply {
  const model = reply.model?.replaceAll(key, MASK) ?? null;
  if (!reply.text.includes(key)) {
    return { ...reply, model };
  }
  // The tokens contain the key too.
  return { ...reply, model, text: reply.text.replaceAll(key, MASK), tokens: null, logprobs: null };
}
