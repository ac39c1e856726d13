/** The policies that answer for the roles of a team, and their capabilities. */

import { C3Error } from './errors.ts';

/** The capabilities that not every policy has. */
export interface PolicyCapabilities {
  /** The context is read as tokens. */
  readonly tokens: boolean;
  /** The probabilities of its tokens are known. */
  readonly logprobs: boolean;
  /** One context may have several answers. */
  readonly samples: boolean;
  /** A run trains its weights. */
  readonly learns: boolean;
}

/** The role in `policies` that answers questions of environments; it is in no protocol. */
export const EXPERT_ROLE = 'expert';

/** The name under which a model judge's cost is shown; no role has a name with a space. */
export const JUDGE_ROLE = 'model judge';
/** Most tokens of the judge's answer. */
export const JUDGE_TOKENS = 1024;

/**
 * The source of a role's messages: weights on this machine, a server, or a program.
 * @term policy
 */
export interface PolicyKind {
  readonly name: string;
  readonly words: string;
  readonly capabilities: PolicyCapabilities;
}

/** Capabilities of the run's own model. */
const MODEL: PolicyCapabilities = { tokens: true, logprobs: true, samples: true, learns: true };

/** Capabilities of weights that a run does not train. */
const FROZEN: PolicyCapabilities = { ...MODEL, learns: false };

/** Policies for roles: others than the run's model, or that model without learning. */
export const POLICY_KINDS = [
  {
    name: 'scripted',
    words: 'A table of answers. It has one answer for a context, no log-probabilities, and learns nothing.',
    capabilities: { tokens: false, logprobs: false, samples: false, learns: false },
  },
  {
    name: 'snapshot',
    words:
      "Weights that the run's model had before: as the run began with it, or after a step of an earlier run. They learn nothing.",
    capabilities: FROZEN,
  },
  {
    name: 'adapter',
    words: "The run's model with the adapter of a folder over it. It learns nothing.",
    capabilities: FROZEN,
  },
  {
    name: 'endpoint',
    words: 'A server with an OpenAI-compatible protocol, here or elsewhere. It has no weights to train here.',
    capabilities: { tokens: false, logprobs: false, samples: true, learns: false },
  },
  {
    name: 'vscode',
    words: 'A chat model of VS Code. A window asks it; it takes no seeds, and has no weights to train here.',
    capabilities: { tokens: false, logprobs: false, samples: true, learns: false },
  },
  {
    name: 'model',
    words: 'Another model, with its own tokenizer and chat template. It learns nothing.',
    capabilities: FROZEN,
  },
  {
    name: 'own',
    words: "The run's model as it is in training. Nothing is learned from what the role says (`learns: false`).",
    capabilities: FROZEN,
  },
] as const satisfies readonly PolicyKind[];

/** The two forms of requests that an endpoint may support. */
export const ENDPOINT_APIS = [
  { name: 'chat', words: 'Messages with roles; the server writes them as its model reads them.' },
  { name: 'completions', words: "The exact text of the context, as the run's own model would read it." },
] as const;
export type EndpointApi = (typeof ENDPOINT_APIS)[number]['name'];

/** An answer with its conditions, all of which must hold. */
export interface ScriptRow {
  readonly answer: string;
  /** The key of the exact model input. */
  readonly context_key?: string | undefined;
  /** The question of the problem, compared without surrounding white space. */
  readonly question?: string | undefined;
  /** Number of the role's turn in the episode, from 1. */
  readonly turn?: number | undefined;
}

export interface Script {
  /** The first row whose conditions hold gives the answer; a row without conditions always holds. */
  readonly answers: readonly ScriptRow[];
}

/** A policy with its own weights. */
export type RoleWeightsSettings =
  | {
      readonly kind: 'snapshot';
      /** `base`, a step of the run below, or the first digits of one of its snapshots. */
      readonly snapshot: string;
      /** An earlier run in the same store; absent for `base`. */
      readonly run?: string | undefined;
    }
  /** @param adapter a folder in PEFT's layout, relative to the configuration */
  | { readonly kind: 'adapter'; readonly adapter: string }
  /** @param model a model folder, relative to the configuration */
  | { readonly kind: 'model'; readonly model: string };

/** Limits of rate, time and cost for a model that is not loaded here. */
interface AskingSettings {
  /** Most requests at once to one address. */
  readonly concurrency: number;
  readonly requests_per_minute: number | null;
  /** Number of attempts after the first. */
  readonly retries: number;
  /** Seconds for one attempt. */
  readonly time_limit: number;
  /** Price of a million tokens. */
  readonly prices: { readonly input: number; readonly output: number };
  /** The spending limit of the role in a run with all of its replays. */
  readonly spending: { readonly tokens: number | null; readonly money: number | null };
}

/** A server that answers for a role. */
export interface EndpointSettings extends AskingSettings {
  readonly kind: 'endpoint';
  /** Base addresses such as `https://api.example.com/v1`; several addresses share the requests. */
  readonly endpoint: readonly string[];
  /** The server's name of the model. */
  readonly model_name: string;
  readonly api: EndpointApi;
  readonly stream: boolean;
}

/** A selection among VS Code's chat models; an absent property matches any value. */
export interface EditorModel {
  readonly vendor?: string | undefined;
  readonly family?: string | undefined;
  readonly version?: string | undefined;
  readonly id?: string | undefined;
}

/** Describes the selection of a chat model in parentheses after a space; empty for an open selection. */
export function describeEditorModel(model: EditorModel): string {
  const said = (['vendor', 'family', 'version', 'id'] as const).flatMap((key) =>
    model[key] === undefined ? [] : [`${key} ${model[key]}`],
  );
  return said.length === 0 ? '' : ` (${said.join(', ')})`;
}

/** A chat model of VS Code that answers for a role. */
export interface EditorSettings extends AskingSettings {
  readonly kind: 'vscode';
  readonly vscode: EditorModel;
}

/** A policy that is asked over a connection, costs something, and has limits. */
export type ServedSettings = EndpointSettings | EditorSettings;

export type RolePolicySettings =
  | ({ readonly kind: 'scripted' } & Script)
  | ServedSettings
  | RoleWeightsSettings
  /** The run's model, which learns only from the other roles. */
  | { readonly kind: 'own'; readonly learns: false };

/** Lists every kind, so that the compiler asks for new ones. */
const OWN_WEIGHTS: Readonly<Record<RolePolicySettings['kind'], boolean>> = {
  scripted: false,
  endpoint: false,
  vscode: false,
  own: false,
  snapshot: true,
  adapter: true,
  model: true,
};

/** Returns true if weights other than those in training answer for a role. */
export const hasWeights = (settings: RolePolicySettings): settings is RoleWeightsSettings => OWN_WEIGHTS[settings.kind];

/** Returns true if a server's model or one of VS Code's answers for a role. */
export const isServed = (settings: RolePolicySettings): settings is ServedSettings =>
  settings.kind === 'endpoint' || settings.kind === 'vscode';

/** The name of the weights that a run begins with. */
export const BASE_SNAPSHOT = 'base';

/** By role; the run's model answers for absent roles. */
export type RolePolicies = Readonly<Record<string, RolePolicySettings>>;

/** Returns the policy of a role in place of the run's model, or undefined if it has none. */
const findRolePolicy = (policies: RolePolicies | undefined, role: string): RolePolicySettings | undefined =>
  policies !== undefined && Object.hasOwn(policies, role) ? policies[role] : undefined;

export function findCapabilities(policies: RolePolicies | undefined, role: string): PolicyCapabilities {
  const kind = findRolePolicy(policies, role)?.kind;
  return POLICY_KINDS.find(({ name }) => name === kind)?.capabilities ?? MODEL;
}

/** Returns true if a run trains a role; messages of other roles are masked from the loss. */
export const isLearningRole = (policies: RolePolicies | undefined, role: string): boolean =>
  findCapabilities(policies, role).learns;

/** Returns true if messages of a role are stored in the tokens of a model other than the run's. */
export const speaksOtherTokens = (policies: RolePolicies | undefined, role: string): boolean =>
  findRolePolicy(policies, role)?.kind === 'model';

/** The reason why a policy without a capability is refused, as part of a sentence. */
const MISSING: Readonly<Record<keyof PolicyCapabilities, string>> = {
  tokens: 'its context has no tokens, because no model read it',
  logprobs: 'it gives no log-probabilities',
  samples: 'it has one answer for each context, so that alternatives would all be equal',
  learns: 'it has no weights to train',
};

/**
 * Checks that a role's policy has a capability.
 * @param instead what to do, as the end of a sentence
 * @throws C3Error('input') with the role, the missing capability, and what to do
 */
export function requireCapability(
  policies: RolePolicies | undefined,
  role: string,
  capability: keyof PolicyCapabilities,
  instead: string,
): void {
  const settings = findRolePolicy(policies, role);
  if (settings !== undefined && !findCapabilities(policies, role)[capability]) {
    throw new C3Error(
      'input',
      `The policy of the role ${role} is ${settings.kind}: ${MISSING[capability]}; ${instead}.`,
    );
  }
}
