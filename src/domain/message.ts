/** A message: the text that a role said in a context, its sampling, and measurements of the call that said it. */

import type { Credit } from '../shared/credit/credit.ts';
import type { Headline } from '../shared/credit/headline.ts';
import type { Phase } from './episode.ts';

/** The settings under which a message is sampled. topK 0 and topP 1 mean no truncation; temperature 0 is greedy. */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly maxNewTokens: number;
}

export type FinishReason = 'end' | 'length' | 'typed';

/** A context that begins with a stored one, as in a conversation. */
export interface GrownContext {
  /** The key of the stored context. */
  readonly base: string;
  /** UTF-16 units of the stored context that this one begins with. */
  readonly baseLength: number;
  /** The text that follows. */
  readonly since: string;
  /** SHA-256 (hex) of the UTF-8 bytes of the whole context. */
  readonly sha256: string;
}

/** The fields of every form of a message: its role, text and place in the run. */
interface Said {
  readonly run: string;
  readonly phase: Phase;
  /** Training iteration (1-based), evaluation number, or replay request number. */
  readonly iteration: number;
  /** A uidSha. */
  readonly problem: string;
  readonly snapshot: string;
  /**
   * A speaker of the team, with a prompt of its own.
   * @term role
   */
  readonly role: string;
  readonly turn: number;
  /** Position in the protocol's canonical order, from 0. */
  readonly position: number;
  /** The message before it in its episode. */
  readonly parent: number | null;
  readonly bucket: number | null;
  /** Index among the alternatives of its bucket (j), or the replay index (m) of a continuation. */
  readonly siblingIndex: number;
  /** BLAKE2b-64 masked to 63 bits, decimal text. */
  readonly contextKey: string;
  readonly text: string;
  readonly finish: FinishReason;
}

/** A message to append to the store. */
export interface NewMessage extends Said {
  readonly environment: number;
  /** Exact text of the model input, stored once by its SHA-256, or its continuation of a stored one. */
  readonly context: string | GrownContext;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  /**
   * The random numbers that a continuation draws. In a request, replay m of each alternative draws the same ones
   * (common random numbers), so that a difference comes from the messages and not from chance.
   * @term stream
   */
  readonly streamKey: string;
  readonly sampling: Sampling;
  readonly promptTokens: number;
  /**
   * Prompt tokens that were not computed again. For a message that was taken from an equal request, all
   * tokens of prompt and message.
   */
  readonly reusedTokens: number;
  /** Measurements of the call, if another program recorded them. */
  readonly measured?: Measured;
}

/** A stored message with its context and tokens, which lists and trees leave out. */
export interface FullMessage extends NewMessage {
  readonly id: number;
  /**
   * The exact text that a model read before it said a message. A replay begins from the same bytes.
   * @term context
   */
  readonly context: string;
  readonly tokenHash: string;
  /** Mean return of the leaves below, or null while none is scored or all are masked. */
  readonly return: number | null;
  readonly leaves: number;
}

/**
 * The text that a role said in a context. Messages are the actions of a team, and get credit.
 * @term message
 */
export interface Message extends Said {
  readonly id: number;
  /**
   * Number of the rollouts between two updates of the step, from 1; absent for messages sampled at the
   * start of the step.
   */
  readonly stage?: number;
  readonly tokenCount: number;
  /** Mean return of the leaves below, or null while none is scored or all are masked. */
  readonly return: number | null;
  readonly leaves: number;
  /** Present if the user gave the return of at least one of the leaves. */
  readonly byHand?: true;
  /**
   * The one credit that the message shows, pooled over all replays in its context with the model and
   * settings of its run.
   */
  readonly credit: Headline | null;
  /**
   * The credit that training learned from, by the estimator of its method; null if nothing was learned
   * from the message.
   */
  readonly trainingCredit: Credit | null;
}

/**
 * Returns the credit that training learned from for a message that has no credit of its own, because
 * nothing else was sampled in its context: a voter, or one message of a joint action. Null for other
 * messages.
 */
export const learnedFrom = ({ credit, trainingCredit }: Pick<Message, 'credit' | 'trainingCredit'>): Credit | null =>
  credit?.verdict === 'alone' ? trainingCredit : null;

/** One window of a longer list of messages. */
export interface MessagePage {
  readonly total: number;
  readonly messages: readonly Message[];
}

/** The start of the stream key of a message after an edited result; a hash of the result follows. */
export const EDITED = 'edited:';

/** Measurements of one message; null for what was not recorded. */
export interface Measured {
  readonly model: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Start of the call: milliseconds since 1970, with a fraction. */
  readonly start: number | null;
  /** Seconds until the answer was complete. */
  readonly seconds: number | null;
  /** Seconds until the answer began. */
  readonly firstTokenSeconds: number | null;
  /** In the unit of the log, which seldom names a currency. */
  readonly cost: number | null;
  readonly temperature: number | null;
}

export type MeasuredNumber = Exclude<keyof Measured, 'model'>;

export const NOTHING_MEASURED: Measured = {
  model: null,
  promptTokens: null,
  completionTokens: null,
  start: null,
  seconds: null,
  firstTokenSeconds: null,
  cost: null,
  temperature: null,
};

/** One measured number of several messages. */
export interface MeasuredSummary {
  readonly sum: number;
  readonly least: number;
  readonly most: number;
  /** Messages for which it was recorded. */
  readonly n: number;
}

/** Measurements of all messages of an episode; null for what no message has. */
export interface EpisodeMeasured {
  readonly messages: number;
  /** Each model once, in the order of the first messages. */
  readonly models: readonly string[];
  readonly numbers: Readonly<Record<MeasuredNumber, MeasuredSummary | null>>;
}

export const NOT_RECORDED = 'Not recorded';

const SIGNIFICANT = 3;

const count = (value: number): string => value.toLocaleString('en-US');

const seconds = (value: number): string =>
  `${value < 10 ? String(Number(value.toPrecision(SIGNIFICANT))) : count(Math.round(value))} s`;

const figure = (value: number): string => String(Number(value.toPrecision(SIGNIFICANT)));

const time = (value: number): string =>
  Math.abs(value) <= MOST_TIME ? new Date(value).toISOString().replace('T', ' ').replace(/Z$/u, ' UTC') : String(value);

/** The last millisecond that has a date. */
const MOST_TIME = 8.64e15;

/** The name and format of each number, and its form for an episode: the sum or the range. */
const FIELDS: Readonly<
  Record<
    MeasuredNumber,
    { readonly name: string; readonly write: (value: number) => string; readonly of: 'sum' | 'range' }
  >
> = {
  promptTokens: { name: 'Tokens in', write: count, of: 'sum' },
  completionTokens: { name: 'Tokens out', write: count, of: 'sum' },
  start: { name: 'Start', write: time, of: 'range' },
  seconds: { name: 'Duration', write: seconds, of: 'sum' },
  firstTokenSeconds: { name: 'First token after', write: seconds, of: 'range' },
  cost: { name: 'Cost', write: figure, of: 'sum' },
  temperature: { name: 'Temperature', write: figure, of: 'range' },
};

export const MEASURED_NUMBERS: readonly MeasuredNumber[] = [
  'promptTokens',
  'completionTokens',
  'start',
  'seconds',
  'firstTokenSeconds',
  'cost',
  'temperature',
];

/** A field and its value in words. */
export type MeasuredFact = readonly [name: string, words: string];

/** Returns the facts without those that were not recorded. */
export const recordedOnly = (facts: readonly MeasuredFact[]): readonly MeasuredFact[] =>
  facts.filter(([, words]) => words !== NOT_RECORDED);

/** Returns all facts about a message, including those that were not recorded. */
export const measuredFacts = (measured: Measured): readonly MeasuredFact[] => [
  ['Model', measured.model ?? NOT_RECORDED],
  ...MEASURED_NUMBERS.map((field): MeasuredFact => {
    const [{ name, write }, value] = [FIELDS[field], measured[field]];
    return [name, value === null ? NOT_RECORDED : write(value)];
  }),
];

/** Returns all facts about an episode; partial ones with the number of messages that have them. */
export const episodeFacts = ({ messages, models, numbers }: EpisodeMeasured): readonly MeasuredFact[] => [
  ['Model', models.length === 0 ? NOT_RECORDED : models.join(', ')],
  ...MEASURED_NUMBERS.map((field): MeasuredFact => {
    const [{ name, write, of }, found] = [FIELDS[field], numbers[field]];
    if (found === null) {
      return [name, NOT_RECORDED];
    }
    const { sum, least, most, n } = found;
    const words = of === 'sum' ? write(sum) : least === most ? write(least) : `${write(least)} to ${write(most)}`;
    return [name, n === messages ? words : `${words} (${count(n)} of ${count(messages)} messages)`];
  }),
];

export interface ExaminedFunction {
  /** Null if it is missing. */
  readonly source: string | null;
  /** True if it returns a value. */
  readonly returns: boolean;
}

export interface ExaminedTest {
  /** The assertion, or the whole test program. */
  readonly source: string;
  readonly passed: boolean;
  /** The failure, shortened; empty if the test passed. Programs write parts of it. */
  readonly detail: string;
}

/**
 * The use of the helper by the main function: it calls the helper, the result matters, and it does
 * nothing else.
 */
export interface HelperUsage {
  readonly called: boolean;
  readonly used: boolean;
  readonly wrapper: boolean;
}

export interface Examination {
  /** The main function's name. */
  readonly entryPoint: string;
  readonly helper: ExaminedFunction;
  readonly main: ExaminedFunction;
  /** The place where both functions together cannot be parsed, or null if they can. */
  readonly syntax: { readonly line: number; readonly column: number; readonly message: string } | null;
  /** Usage in the source; null if it cannot be parsed or is missing. */
  readonly usage: HelperUsage | null;
  /** Usage at run time; absent if this was not measured or no test passed. */
  readonly executed?: HelperUsage;
  /** Empty if no test was run: without a main function, or if the program cannot be parsed. */
  readonly tests: readonly ExaminedTest[];
  /** Number of all tests, run or not. */
  readonly testCount: number;
}

/** The examination of a program, or why there is none. */
export type Examined = Examination | { readonly masked: string; readonly rule: string };
