/**
 * What the store holds and every process speaks about: plain data, no behaviour.
 * Names are those of the design: instance, decision, bucket, alternative, replay, credit, ledger.
 * Hashes and context keys are text; decisions, buckets and episodes have integer ids below 2^53.
 */
import type { StepMetrics } from './stepMetrics.ts';
import type { OtherContinuation } from './continuation.ts';
import type { Credit } from '../shared/credit/credit.ts';
import type { Headline } from '../shared/credit/headline.ts';
import type { VerificationMark } from './verification.ts';
import type { Measured } from './measured.ts';

/** An estimate with its uncertainty; a bound is null where it cannot be estimated. */
export interface Interval {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}

export type Phase = 'train' | 'evaluate' | 'replay';
export type RunStatus = 'running' | 'done' | 'cancelled' | 'failed';
export type EvaluationKind = 'greedy' | 'sampled';

/** One task item. uidSha is SHA-256 of the NFC, newline and trailing-space normalised question. */
export interface Instance {
  readonly uid: string;
  readonly uidSha: string;
  readonly question: string;
  /** What a message is compared with; beside tests, a reference solution, empty where none is known. */
  readonly answer: string;
  readonly source: string;
  readonly level: number | null;
  /** What scores a message of code; absent where the answer does. */
  readonly tests?: InstanceTests;
}

/**
 * Unit tests in Python. The forms of MBPP (`tests`, `setup`), MBPP+ (`test`) and HumanEval (`test`, `entryPoint`,
 * `prefix`).
 */
export interface InstanceTests {
  /** Statements, each a test of its own. */
  readonly tests: readonly string[];
  /** A whole program that tests; empty where there is none. */
  readonly test: string;
  /** The function that check(candidate) of `test` receives; null where the tests call the candidate by its names. */
  readonly entryPoint: string | null;
  /** Runs before the tests, where they run. */
  readonly setup: string;
  /** Code that a message continues from: it is before the message's own. Empty where a message is whole. */
  readonly prefix: string;
  /** Present where a message is no code: it states the value that `entryPoint` gives back, as AutoLogi has it. */
  readonly reads?: 'value';
}

/** The iteration of weights that a run never trained: another model's, which continued replays of it. */
export const OTHER_MODEL = -1;
/** The iteration of weights that a run had between two updates of a step only, when it sampled a stage. */
export const WITHIN_STEP = -2;

/** The step after which a run had the weights of a snapshot's iteration; null for those that it had after none. */
export const stepOfWeights = (iteration: number): number | null => (iteration < 0 ? null : iteration);

/** A frozen set of policy parameters of one run, or of another model that continued replays of it. */
export interface Snapshot {
  /** Hash of the weights. */
  readonly id: string;
  readonly run: string;
  /**
   * 0 for the weights that the run began with; WITHIN_STEP for those that it had between two updates of a step only,
   * OTHER_MODEL for those of another model.
   */
  readonly iteration: number;
  /** Folder (or address) of the model that the run began with, or of the other model. */
  readonly base: string;
  /** File of these weights; null where they are the base's own or have to be rebuilt. */
  readonly file: string | null;
}

/** The settings under which a message is sampled. topK 0 and topP 1 mean no truncation; temperature 0 is greedy. */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly maxNewTokens: number;
}

/** Everything outside the weights that the bytes of a replay may depend on. */
export interface NumericEnvironment {
  readonly runtime: string;
  readonly provider: string;
  readonly device: string;
  readonly threads: number;
  readonly platform: string;
}

export type FinishReason = 'end' | 'length' | 'typed';

/** A context that begins with one that is stored, as those of a conversation do. */
export interface GrownContext {
  /** The key of that one. */
  readonly base: string;
  /** UTF-16 units of it that this one begins with. */
  readonly baseLength: number;
  /** What follows. */
  readonly since: string;
  /** SHA-256 (hex) of the UTF-8 bytes of the whole. */
  readonly sha256: string;
}

/** One message by one role in one context, as it is appended. */
export interface NewDecision {
  readonly run: string;
  readonly phase: Phase;
  /** Training iteration (1-based), evaluation number, or replay request number. */
  readonly iteration: number;
  readonly instance: string;
  readonly snapshot: string;
  readonly environment: number;
  readonly role: string;
  readonly turn: number;
  /** Position in the protocol's canonical order, from 0. */
  readonly position: number;
  readonly parent: number | null;
  readonly bucket: number | null;
  /** Index among the alternatives of its bucket (j), or the replay index (m) of a continuation. */
  readonly siblingIndex: number;
  /** Exact text of the model input, stored once by its SHA-256; or how it goes on from one that is stored. */
  readonly context: string | GrownContext;
  /** BLAKE2b-64 masked to 63 bits, decimal text. */
  readonly contextKey: string;
  readonly text: string;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly streamKey: string;
  readonly sampling: Sampling;
  readonly finish: FinishReason;
  readonly promptTokens: number;
  /**
   * Prompt tokens that were not computed again; of a message that was taken from an equal request, all tokens of prompt
   * and message.
   */
  readonly reusedTokens: number;
  /** What was measured of the call, where another program recorded it. */
  readonly measured?: Measured;
}

export interface Decision extends NewDecision {
  readonly id: number;
  /** Exact text of the model input. */
  readonly context: string;
  readonly tokenHash: string;
  /** Mean return of the leaves below; null while none is scored or all are masked. */
  readonly return: number | null;
  readonly leaves: number;
}

/** A decision without its token payload: what lists and trees show. */
export interface Message {
  readonly id: number;
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
  /** Of rollouts between two updates of the step, from 1; left out for what a step sampled at its beginning. */
  readonly stage?: number;
  readonly instance: string;
  readonly snapshot: string;
  readonly role: string;
  readonly turn: number;
  readonly position: number;
  readonly parent: number | null;
  readonly bucket: number | null;
  readonly siblingIndex: number;
  readonly contextKey: string;
  readonly text: string;
  readonly tokenCount: number;
  readonly finish: FinishReason;
  readonly return: number | null;
  readonly leaves: number;
  /**
   * The one credit that the message shows, pooled over all replays in its context under the model and settings of its
   * run.
   */
  readonly credit: Headline | null;
  /** What training learned from it, by the estimator of its method; null for messages that nothing was learned from. */
  readonly trainingCredit: Credit | null;
}

/** One window of a longer list of messages. */
export interface MessagePage {
  readonly total: number;
  readonly messages: readonly Message[];
}

/**
 * One leaf: a path of decisions from the root to a scored message. return is null when the evaluator failed (masked).
 */
export interface NewEpisode {
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
  readonly instance: string;
  readonly leaf: number;
  readonly return: number | null;
  readonly rule: string;
  readonly evaluatorCalls: number;
}

export interface Episode extends NewEpisode {
  readonly id: number;
  readonly question: string;
  readonly answer: string;
}

/**
 * training: a group that was learned from; request: a replay that a user asked for; diagnostic: sampled, or imported,
 * to be measured on.
 */
export type BucketOrigin = 'training' | 'request' | 'diagnostic';

/** One context instance in one sampling group. */
export interface NewBucket {
  readonly run: string;
  readonly origin: BucketOrigin;
  readonly iteration: number;
  readonly instance: string;
  readonly role: string;
  readonly turn: number;
  readonly contextKey: string;
  readonly snapshot: string;
  /** The clicked message, for a request. */
  readonly message: number | null;
}

export interface Bucket extends NewBucket {
  readonly id: number;
}

/** One continuation of an alternative to the end of the episode. */
export interface NewReplay {
  readonly bucket: number;
  /** The alternative's decision. */
  readonly alternative: number;
  /** m, from 0. */
  readonly replayIndex: number;
  /** The last decision of the continuation; equals the alternative when its role is terminal. */
  readonly leaf: number;
  readonly return: number | null;
  readonly evaluatorCalls: number;
  /**
   * SHA-256 over what the messages of the whole continuation are (tokens, text, context, stream, sampling,
   * log-probabilities) and what it returned.
   */
  readonly tokenHash: string;
  readonly environment: number;
}

export interface Replay extends NewReplay {
  readonly id: number;
}

export interface Alternative {
  readonly decision: number;
  readonly index: number;
  readonly text: string;
  /** True for the message that was clicked, when it is in its own request bucket. */
  readonly original: boolean;
  readonly tokenCount: number;
  readonly finish: FinishReason;
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
  /** Its headline, in the pool of its bucket. */
  readonly credit: Headline | null;
  /** The record of this bucket alone. */
  readonly bucketCredit: Credit | null;
  /** True: re-execution gave identical tokens; false: it differed; null: not measured. */
  readonly verified: boolean | null;
  /** The same in words, with the reason; null where it has no replay. */
  readonly verification: VerificationMark | null;
}

export interface BucketView extends Bucket {
  readonly alternatives: readonly Alternative[];
  /**
   * Null where the message of a request was continued by the model and settings that sampled it, and for what is no
   * request; else its credits are of another distribution.
   */
  readonly continuation: OtherContinuation | null;
  /** Further alternatives, where only some were asked for. */
  readonly omitted?: number;
}

/** Tokens that a model was given or made. */
export interface Tokens {
  readonly prompt: number;
  /** Of the prompt tokens, those that were not computed again. */
  readonly reused: number;
  readonly completion: number;
  /**
   * Completion tokens of messages that were taken from an equal request; none of the others counts these messages.
   * Absent in what was stored before.
   */
  readonly reusedCompletion?: number;
}

/** Cumulative cost of a run. */
export interface Ledger {
  /** Calls that were made. */
  readonly evaluatorCalls: number;
  /**
   * Further evaluations whose result was known from an equal message. Absent in what was stored before these were
   * counted.
   */
  readonly reusedEvaluations?: number;
  /** Of the calls, those that scored answers of votes by themselves; absent where there were none. */
  readonly voteCalls?: number;
  readonly tokens: Tokens;
  readonly decisions: Readonly<Record<string, number>>;
  readonly seconds: number;
}

export interface Step {
  readonly run: string;
  readonly iteration: number;
  readonly snapshot: string;
  readonly metrics: StepMetrics | null;
  readonly ledger: Ledger;
  readonly episodes: number;
}

/** What `c3 run --json` prints and the run's row keeps. */
export interface RunSummary {
  readonly run: string;
  readonly method: string;
  readonly seed: number;
  readonly steps: number;
  /** Calls that were made. */
  readonly evaluatorCalls: number;
  /**
   * Further evaluations whose result was known from an equal message. Absent in runs that were stored before these were
   * counted.
   */
  readonly reusedEvaluations?: number;
  /**
   * Further calls, at most, whose results were lost when the run was interrupted. Absent in runs that were stored
   * before these were counted.
   */
  readonly lostEvaluatorCalls?: number;
  /**
   * Episodes that the evaluator failed to score; they count nowhere. Absent in runs that were stored before these were
   * counted.
   */
  readonly maskedEpisodes?: number;
  readonly tokens: Tokens;
  readonly decisions: Readonly<Record<string, number>>;
  readonly accuracy: {
    readonly before: Interval | null;
    readonly after: Interval | null;
    readonly difference: Interval | null;
  };
  /** The mean over all samples of an instance: pass@1, which is avg@k of k samples. */
  readonly passAt1: {
    readonly before: Interval | null;
    readonly after: Interval | null;
    readonly difference: Interval | null;
  };
  /**
   * Instances that one of their samples or more solves: pass@k of k samples. Only where an evaluation takes several,
   * and not in runs that were stored before this was measured.
   */
  readonly passAtK?: RunSummary['passAt1'] & { readonly samples: number };
  /** Seconds of training alone, evaluations left out. */
  readonly seconds: number;
  readonly store: string;
}

export interface RunRecord {
  readonly id: string;
  readonly method: string;
  readonly seed: number;
  readonly status: RunStatus;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly plannedSteps: number;
  readonly steps: number;
  /** What the user calls it; until then, as its configuration does. */
  readonly title: string;
  /** What the user says of it; empty where nothing. */
  readonly note: string;
  readonly tags: readonly string[];
  readonly summary: RunSummary | null;
}
