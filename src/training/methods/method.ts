/**
 * What a method is: an algorithm in three parts. One file holds one method with what readers see of it;
 * methods.ts lists it.
 *
 * A training step, with the policy as the step before left it:
 *   1. `plan` says what to roll out for every problem; the run samples, scores and counts it;
 *   2. `credit` says what each message of the whole step is worth; messages and credits are stored in one transaction;
 *   3. `updates` says, one after another, what is learned from what is stored. Prompts, decoding, loss and optimizer
 *      are the same for all methods (the loss: runtime/train/graph/policyLoss.ts). It may ask for `rollouts` in
 *      between: a stage, which is planned and credited as in 1 and 2, with the policy as the updates before left it.
 */
import type { CreditEstimator } from '../../credit/estimators.ts';
import type { Standardisation } from '../../credit/standardScore.ts';
import type { MethodState, OwnMeasures, StepMetrics } from '../../domain/step.ts';
import type { JointGrowth } from '../../replay/jointTree.ts';
import type { TreeMessage } from '../../replay/tree.ts';
import type { Vote } from '../../replay/votes.ts';
import type { KlPenalty } from '../../runtime/train/graph/klTerm.ts';
import type { PolicyLoss } from '../../runtime/train/graph/policyLoss.ts';
import type { StepReport } from '../../runtime/train/stepReport.ts';
import type { ValueSettings } from '../../runtime/train/valueHead.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Shape } from '../../team/rounds.ts';
import type { Divergence } from '../divergence.ts';
import type { RunKeys } from '../keys/runKeys.ts';

/** What a method reads of a run's configuration. */
export type MethodSettings = Readonly<
  Pick<
    RunKeys,
    | 'steps'
    | 'shape'
    | 'fanout'
    | 'fanout_unique'
    | 'evaluator_budget'
    | 'policies'
    | 'adapter'
    | 'magrpo'
    | 'credit'
    | 'ccpo'
    | 'ppo'
    | 'value_head'
    | 'teamtr'
  >
>;

/** How the rollout tree of MAGRPO is sampled and credited (reference sections 2 to 4). */
export type JointSettings = NonNullable<MethodSettings['magrpo']>;

/** What a value is the value of: the state in which a message is said, V(s), or the message in its state, q(s, a). */
export type ValueTarget = 'state' | 'message';

/** Variance of the return in the contexts of each position, in order; null where that is not known. */
export type Spread = readonly (number | null)[];

/** Trees to grow, one set for every problem of a step. */
export interface Rollout {
  /** Messages sampled per position of the protocol. */
  readonly fanout: readonly number[];
  /** nested unless given: what `fanout` counts. */
  readonly shape?: Shape;
  /** Which messages of a turn are joint actions, where the tree is one of turns; `fanout` counts its rows. */
  readonly joint?: JointGrowth;
  /** Whether replay m of one alternative draws the random numbers of replay m of its siblings. */
  readonly commonRandomNumbers: boolean;
  /** Whether other messages are drawn in the place of equal ones that end episodes. */
  readonly unique?: boolean;
  /** True: its messages are scored for what `credit` makes of them, and never learned from. */
  readonly measured?: boolean;
  /**
   * How the role that speaks second reads its context where what the first one said is left out: an empty message
   * replaces it, which `fanout` counts as its own. Omitted: the message is kept.
   */
  readonly withoutFirst?: 'bare' | 'empty_plan';
  /** True: it draws the random numbers of the plan's first rollout, message by message of the same number. */
  readonly sharesDraws?: boolean;
}

/** A step whose messages are sampled and scored. */
export interface SampledStep {
  readonly settings: MethodSettings;
  /** 0 at the beginning of a step; its `rollouts` follow from 1 on. */
  readonly stage: number;
  /** The trees of each problem that are learned from, as the plan orders them; a whole episode does not branch. */
  readonly problems: readonly (readonly TreeMessage[])[];
  /** Those that are only measured, in the same order. */
  readonly measured: readonly (readonly TreeMessage[])[];
  /** What the method carries on from the stage before, or the step before. */
  readonly state: MethodState;
  /** The value of every message, or of its state; empty where the method has no value target. */
  readonly values: ReadonlyMap<TreeMessage, number>;
  /** The votes that end episodes, by their last messages; absent where the method counts none. */
  readonly votes?: ReadonlyMap<TreeMessage, Vote>;
}

export interface Credited {
  /** A message that is missing has no credit, and nothing is learned from it. */
  readonly credits: ReadonlyMap<TreeMessage, Credit>;
  /** What the method carries on from this step; left out: what it had. */
  readonly state?: MethodState;
}

/** A step whose messages and credits are stored. */
export interface LearningStep {
  readonly settings: MethodSettings;
  /** From 1. */
  readonly iteration: number;
  /** As `credit` left it at the beginning of the step. */
  readonly state: MethodState;
  /** The roles of the protocol, in its order. */
  readonly roles: readonly string[];
  /** The nodes of the rollout trees, each after those below it; empty where a method has no `byNode`. */
  readonly nodes: readonly string[];
  /** Random numbers in [0, 1) by their position, the same whenever the step is executed; a stream for each purpose. */
  readonly random: (purpose: string) => (position: number) => number;
}

/** What decides which roles the updates of a step teach. */
export type TaughtStep = Omit<LearningStep, 'nodes'>;

/** A part of the contexts of a pass. */
export interface MiniBatch {
  /** From 0. */
  readonly index: number;
  /** How many mini-batches the pass has. */
  readonly of: number;
  /** How many of them, from this one on, together; 1 unless given. */
  readonly count?: number;
  /** Random numbers in [0, 1) by their position: the same for all mini-batches of a pass. */
  readonly draw: (position: number) => number;
}

/**
 * One optimizer step of the policy, or of each role's adapter, on the credited messages of the newest stage: of all
 * roles or some, all of them or a mini-batch; the default loss unless given.
 */
export interface PolicyUpdate {
  readonly kind: 'policy';
  readonly learningRate: number;
  readonly roles?: readonly string[];
  /** One node of a rollout tree: nothing but its messages. */
  readonly node?: string;
  readonly batch?: MiniBatch;
  /** What counts the same: the tokens of all messages together as much as there are messages; else as configured. */
  readonly weight?: 'sequence';
  readonly loss?: Omit<PolicyLoss, 'kl'>;
  /** What each episode counts, by the id of its first message; 1 unless given. */
  readonly weights?: ReadonlyMap<number, number>;
  /** The divergence that is penalized; as the configuration says unless given. */
  readonly kl?: KlPenalty;
  /**
   * True: the loss is the mean over messages of what the ratio of each is worth, and of the sum of its tokens'
   * divergences; else `ppo.loss_weight` says what counts. Not with k1.
   */
  readonly perMessage?: boolean;
}

/** One thing to do with the stored messages of a step. */
export type Update =
  | PolicyUpdate
  /**
   * Begins the next stage: rolls out for the same problems what `plan` says of it, with the policy as it is now, and
   * credits it. Later updates learn from its messages.
   */
  | { readonly kind: 'rollouts' }
  /** The value head learns what followed each credited message. */
  | ({ readonly kind: 'values' } & ValueSettings)
  /**
   * Measures how far roles have moved from the policy that sampled, all of them or some, on all of their contexts or
   * a part; exact: over the whole vocabulary too, which must be small; ranks: also probabilities by rank, likewise.
   */
  | {
      readonly kind: 'divergence';
      readonly exact?: boolean;
      readonly ranks?: boolean;
      readonly roles?: readonly string[];
      readonly batch?: MiniBatch;
      /** Of the surrogate's gain, as of an update. */
      readonly weights?: ReadonlyMap<number, number>;
      /** On the messages with which the step began; else on those of the newest stage. Not with `exact`. */
      readonly of?: 'first';
    }
  /** Keeps the policy and its optimizer as they are, to go back to. */
  | { readonly kind: 'keep' }
  /**
   * Goes back to what was kept (0), or leaves this share of the way that the parameters have gone since; the optimizer
   * goes back with 0 only.
   */
  | { readonly kind: 'revert'; readonly share: number }
  /** Ends a step: its own figures, and what the next one begins with instead of what `credit` gave. */
  | { readonly kind: 'finish'; readonly measures: OwnMeasures; readonly state: MethodState };

/** What an update showed. */
export interface Outcome {
  /** Of `rollouts`: what the method carries on from its credit. */
  readonly state?: MethodState;
  /** Of `policy`. */
  readonly report?: StepReport;
  /** Of `divergence`, by role; one without a credited message is missing. */
  readonly divergence?: ReadonlyMap<string, Divergence>;
}

/** Updates in the order in which they are made; the generator gets what each showed, and ends when the step is done. */
export type Updates = Generator<Update, void, Outcome> | AsyncGenerator<Update, void, Outcome>;

/** What a method carries from step to step: stored with each step, and restored to the bit. */
export interface StateKind {
  /** Identified by name and version: a run does not continue with a state of another kind. */
  readonly name: string;
  readonly version: number;
  readonly initial: (settings: MethodSettings) => MethodState;
}

/** Configuration keys that only some methods read. */
export type MethodKey =
  | 'shape'
  | 'fanout'
  | 'fanout_unique'
  | 'credit.estimator'
  | 'credit.alpha'
  | 'credit.common_random_numbers'
  | 'credit.merge_contexts'
  | 'credit.lone_messages'
  | 'ccpo'
  | 'magrpo'
  | 'value_head'
  | 'teamtr';

export interface MethodWords {
  /** What readers call it. */
  readonly label: string;
  /** What it does, in whole sentences: the help of the key `method`. */
  readonly help: string;
  /** What it does, in half a sentence: the list of methods on a page that compares them. */
  readonly summary: string;
  /** Configuration keys that it reads and not every method does. */
  readonly reads: readonly MethodKey[];
  /** False: the team stays as it is, whatever `steps` says. */
  readonly trains: boolean;
}

export interface Method {
  readonly words: MethodWords;
  /** Left out: it carries nothing from step to step. */
  readonly state?: StateKind;
  /**
   * What is compared with each other: the messages of one context, or those of one role in all episodes of a problem.
   */
  readonly compared: 'context' | 'problem';
  /** Over what its published code scales credits, where that is the whole step; left out: over what is compared. */
  readonly scaledOver?: 'step';
  /** How credits become advantages; left out: as `credit.group_normalise` says. */
  readonly standardised?: (settings: MethodSettings) => Standardisation;
  /** Whether what is compared, and learned from at once, is what a role says at one node of a rollout tree. */
  readonly byNode?: (settings: Pick<MethodSettings, 'magrpo'>) => boolean;
  /** The name under which credits are stored and learned from. */
  readonly estimator: (settings: MethodSettings) => CreditEstimator;
  /** What the value head learns and `credit` gets values of; null where there is none. */
  readonly valueTarget: (settings: MethodSettings) => ValueTarget | null;
  /** Why it cannot be run with a protocol, in one sentence; null where it can. */
  readonly fault: (settings: MethodSettings, protocol: Protocol) => string | null;
  /** What a user who compares methods should know of a configuration, one sentence each. */
  readonly remarks: (settings: MethodSettings, protocol: Protocol) => readonly string[];
  /** Whether its credit counts the votes of a protocol again; left out: of none. */
  readonly countsVotes?: (protocol: Protocol) => boolean;

  /** Stages of a step, at most: 1 and the `rollouts` that its updates may ask for. Left out: 1. */
  readonly stages?: (settings: MethodSettings, protocol: Protocol) => number;
  /**
   * What each stage of a step rolls out. `evaluator_budget` counts the evaluator calls of a problem in all stages
   * together, so that methods with stages are compared with others at one cost.
   * @param spread of the returns in the step before, where the configuration asks to plan by it and there is one
   */
  readonly plan: (
    settings: MethodSettings,
    protocol: Protocol,
    stage: number,
    spread?: Spread | null,
  ) => readonly Rollout[];
  readonly credit: (step: SampledStep) => Credited;
  readonly updates: (step: LearningStep) => Updates;
  /** The roles that the updates teach on the messages of a stage of a step; left out: all that learn. */
  readonly taught?: (step: TaughtStep, stage: number) => readonly string[];
  /** What a step shows of the state that `credit` left; see STEP_MEASURES. */
  readonly measures?: (state: MethodState, settings: MethodSettings) => MethodMeasures;
}

/** Measures of a step that only some methods have. */
export type MethodMeasures = Pick<
  StepMetrics,
  'contribution' | 'contributionDeviation' | 'jointReturn' | 'jointDeviation' | 'soloReturn' | 'soloDeviation' | 'gate'
>;

/** Every group of siblings of some trees, parents first: the messages that answer one context. */
export function* contextsOf(siblings: readonly TreeMessage[]): Generator<readonly TreeMessage[]> {
  if (siblings.length === 0) {
    return;
  }
  yield siblings;
  for (const { children } of siblings) {
    yield* contextsOf(children);
  }
}

/**
 * Every set of messages of some trees that are compared with each other, parents first: siblings, and with `merged` all
 * that have siblings and one position and context key, as C3's Algorithm 1 keys them. A message without a sibling stays
 * alone: if it were compared where its context came twice, a role would learn in frequent contexts only.
 * @param trees of one problem
 */
export function comparedMessages(trees: readonly TreeMessage[], merged: boolean): (readonly TreeMessage[])[] {
  const groups = [...contextsOf(trees)];
  if (!merged) {
    return groups;
  }
  const several = groups.filter(({ length }) => length > 1).flat();
  return [...Map.groupBy(several, ({ position, contextKey }) => `${position} ${contextKey}`).values()];
}

/** A message with all that follow it. */
export function* episodeOf(message: TreeMessage): Generator<TreeMessage> {
  yield message;
  for (const child of message.children) {
    yield* episodeOf(child);
  }
}
