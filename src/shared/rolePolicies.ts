/** Which policy answers for which role of a team, and what it can do. */
import { C3Error } from './errors.ts';

/** What not every policy can do. */
export interface PolicyCapabilities {
  /** It reads its context as tokens. */
  readonly tokens: boolean;
  /** It says how probable its tokens were. */
  readonly logprobs: boolean;
  /** One context may have several answers. */
  readonly samples: boolean;
  /** It has weights that a run trains. */
  readonly learns: boolean;
}

/** The role of `policies` that answers what environments ask; it is in no protocol. */
export const EXPERT_ROLE = 'expert';

/** Where what a model judge costs is counted, and shown; no role has a name with a space. */
export const JUDGE_ROLE = 'model judge';
/** Tokens of its answer at most. */
export const JUDGE_TOKENS = 1024;

/**
 * What answers for a role: weights on this machine, a server, or a program.
 * @term policy
 */
export interface PolicyKind {
  readonly name: string;
  readonly words: string;
  readonly capabilities: PolicyCapabilities;
}

/** What the run's own model can do. */
const MODEL: PolicyCapabilities = { tokens: true, logprobs: true, samples: true, learns: true };

/** What weights can do that a run does not train. */
const FROZEN: PolicyCapabilities = { ...MODEL, learns: false };

/** What may answer for a role other than the run's model, or that model without learning from it. */
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

/** The two forms of requests that an endpoint may know. */
export const ENDPOINT_APIS = [
  { name: 'chat', words: 'Messages with roles; the server writes them as its model reads them.' },
  { name: 'completions', words: "The exact text of the context, as the run's own model would read it." },
] as const;
export type EndpointApi = (typeof ENDPOINT_APIS)[number]['name'];

/** An answer with the conditions under which it is given: all that are there must hold. */
export interface ScriptRow {
  readonly answer: string;
  /** The key of the exact model input. */
  readonly context_key?: string | undefined;
  /** The question of the problem; white space around it does not count. */
  readonly question?: string | undefined;
  /** Which time the role speaks in the episode, from 1. */
  readonly turn?: number | undefined;
}

export interface Script {
  /** The first row whose conditions hold gives the answer; a row without conditions always does. */
  readonly answers: readonly ScriptRow[];
}

/** What answers for a role with weights of its own. */
export type RoleWeightsSettings =
  | {
      readonly kind: 'snapshot';
      /** `base`, or a step of the run below, or the first digits of one of its snapshots. */
      readonly snapshot: string;
      /** An earlier run in the same store; left out for `base`. */
      readonly run?: string | undefined;
    }
  /** @param adapter a folder in PEFT's layout, relative to the configuration */
  | { readonly kind: 'adapter'; readonly adapter: string }
  /** @param model a model folder, relative to the configuration */
  | { readonly kind: 'model'; readonly model: string };

/** How often, how long and for how much a model that is not loaded here may be asked. */
interface AskingSettings {
  /** Requests under way at one address at most. */
  readonly concurrency: number;
  readonly requests_per_minute: number | null;
  /** Attempts after the first. */
  readonly retries: number;
  /** Seconds for one attempt. */
  readonly time_limit: number;
  /** Money for a million tokens. */
  readonly prices: { readonly input: number; readonly output: number };
  /** The most that the role may cost in a run with all of its replays. */
  readonly spending: { readonly tokens: number | null; readonly money: number | null };
}

/** A server that answers for a role. */
export interface EndpointSettings extends AskingSettings {
  readonly kind: 'endpoint';
  /** Base addresses such as `https://api.example.com/v1`; several share the requests. */
  readonly endpoint: readonly string[];
  /** How the server names the model. */
  readonly model_name: string;
  readonly api: EndpointApi;
  readonly stream: boolean;
}

/** Which of VS Code's chat models; what is left out may be any. */
export interface EditorModel {
  readonly vendor?: string | undefined;
  readonly family?: string | undefined;
  readonly version?: string | undefined;
  readonly id?: string | undefined;
}

/** What a configuration says of a chat model, in brackets after a space; empty where it says nothing. */
export function editorModelWords(model: EditorModel): string {
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

/** What is asked over a connection, costs something, and has limits. */
export type ServedSettings = EndpointSettings | EditorSettings;

export type RolePolicySettings =
  | ({ readonly kind: 'scripted' } & Script)
  | ServedSettings
  | RoleWeightsSettings
  /** The run's model, which learns from the other roles. */
  | { readonly kind: 'own'; readonly learns: false };

/** Of every kind, so that the compiler asks for a new one. */
const OWN_WEIGHTS: Readonly<Record<RolePolicySettings['kind'], boolean>> = {
  scripted: false,
  endpoint: false,
  vscode: false,
  own: false,
  snapshot: true,
  adapter: true,
  model: true,
};

/** Whether weights that are not those in training answer for a role. */
export const hasWeights = (settings: RolePolicySettings): settings is RoleWeightsSettings => OWN_WEIGHTS[settings.kind];

/** Whether a model elsewhere answers for a role: a server's, or one of VS Code's. */
export const isServed = (settings: RolePolicySettings): settings is ServedSettings =>
  settings.kind === 'endpoint' || settings.kind === 'vscode';

/** The name of the weights that a run begins with. */
export const BASE_SNAPSHOT = 'base';

/** By role; a role that is missing is answered by the run's model. */
export type RolePolicies = Readonly<Record<string, RolePolicySettings>>;

/** The policy that a role has in the place of the run's model; undefined where it has none. */
const settingsOf = (policies: RolePolicies | undefined, role: string): RolePolicySettings | undefined =>
  policies !== undefined && Object.hasOwn(policies, role) ? policies[role] : undefined;

export function capabilitiesOf(policies: RolePolicies | undefined, role: string): PolicyCapabilities {
  const kind = settingsOf(policies, role)?.kind;
  return POLICY_KINDS.find(({ name }) => name === kind)?.capabilities ?? MODEL;
}

/** Whether a run trains a role; what the others say is masked from the loss. */
export const learns = (policies: RolePolicies | undefined, role: string): boolean =>
  capabilitiesOf(policies, role).learns;

/** Whether what a role says is stored in the tokens of another model than the run's. */
export const speaksOtherTokens = (policies: RolePolicies | undefined, role: string): boolean =>
  settingsOf(policies, role)?.kind === 'model';

/** Why a policy without a capability cannot do what was asked, within a sentence. */
const MISSING: Readonly<Record<keyof PolicyCapabilities, string>> = {
  tokens: 'its context has no tokens, because no model read it',
  logprobs: 'it gives no log-probabilities',
  samples: 'it has one answer for each context, so that alternatives would all be equal',
  learns: 'it has no weights to train',
};

/**
 * Asks for what a role's policy must be able to do.
 * @param instead what to do, as the end of a sentence
 * @throws C3Error('input') that says which role, what is missing, and what to do
 */
export function requireCapability(
  policies: RolePolicies | undefined,
  role: string,
  capability: keyof PolicyCapabilities,
  instead: string,
): void {
  const settings = settingsOf(policies, role);
  if (settings !== undefined && !capabilitiesOf(policies, role)[capability]) {
    throw new C3Error(
      'input',
      `The policy of the role ${role} is ${settings.kind}: ${MISSING[capability]}; ${instead}.`,
    );
  }
}
