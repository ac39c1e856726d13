/** A message: what a role said in a context, how it was sampled, and what was measured of the call that said it. */
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

/** What every form of a message says: who said what, and where in its run. */
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

/** A message as it is appended. */
export interface NewMessage extends Said {
  readonly environment: number;
  /** Exact text of the model input, stored once by its SHA-256; or how it goes on from one that is stored. */
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
   * Prompt tokens that were not computed again; of a message that was taken from an equal request, all tokens of prompt
   * and message.
   */
  readonly reusedTokens: number;
  /** What was measured of the call, where another program recorded it. */
  readonly measured?: Measured;
}

/** A stored message with its context and its tokens, which lists and trees leave out. */
export interface FullMessage extends NewMessage {
  readonly id: number;
  /**
   * The exact text that a model read before it said a message. A replay begins from the same bytes.
   * @term context
   */
  readonly context: string;
  readonly tokenHash: string;
  /** Mean return of the leaves below; null while none is scored or all are masked. */
  readonly return: number | null;
  readonly leaves: number;
}

/**
 * What a role said in a context: what a team does and what gets credit.
 * @term message
 */
export interface Message extends Said {
  readonly id: number;
  /** Of rollouts between two updates of the step, from 1; left out for what a step sampled at its beginning. */
  readonly stage?: number;
  readonly tokenCount: number;
  /** Mean return of the leaves below; null while none is scored or all are masked. */
  readonly return: number | null;
  readonly leaves: number;
  /** Where the user gave the return of one of these. */
  readonly byHand?: true;
  /**
   * The one credit that the message shows, pooled over all replays in its context under the model and settings of its
   * run.
   */
  readonly credit: Headline | null;
  /** What training learned from it, by the estimator of its method; null for messages that nothing was learned from. */
  readonly trainingCredit: Credit | null;
}

/**
 * What training learned from a message where nothing else was sampled in its context, so that it has no credit of its
 * own: a voter, or one of a joint action. Null elsewhere.
 */
export const learnedFrom = ({ credit, trainingCredit }: Pick<Message, 'credit' | 'trainingCredit'>): Credit | null =>
  credit?.verdict === 'alone' ? trainingCredit : null;

/** One window of a longer list of messages. */
export interface MessagePage {
  readonly total: number;
  readonly messages: readonly Message[];
}

/** What the stream of such a message begins with; a hash of the edited result follows. */
export const EDITED = 'edited:';

/** Of one message; null for what was not recorded. */
export interface Measured {
  readonly model: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** When the call began: milliseconds since 1970, with a fraction. */
  readonly start: number | null;
  /** Until its answer was whole. */
  readonly seconds: number | null;
  /** Until its answer began. */
  readonly firstTokenSeconds: number | null;
  /** As the log counts it, which seldom names a currency. */
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

/** One number of several messages. */
export interface MeasuredSummary {
  readonly sum: number;
  readonly least: number;
  readonly most: number;
  /** Messages that have it. */
  readonly n: number;
}

/** Of all messages of an episode; null for what was recorded of none. */
export interface EpisodeMeasured {
  readonly messages: number;
  /** Each once, in the order in which they first spoke. */
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

/** How each number is called and written, and what it is of an episode: the sum, or from the least to the most. */
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

/** Facts without those that were not recorded. */
export const recordedOnly = (facts: readonly MeasuredFact[]): readonly MeasuredFact[] =>
  facts.filter(([, words]) => words !== NOT_RECORDED);

/** Everything about a message, what was not recorded too. */
export const measuredFacts = (measured: Measured): readonly MeasuredFact[] => [
  ['Model', measured.model ?? NOT_RECORDED],
  ...MEASURED_NUMBERS.map((field): MeasuredFact => {
    const [{ name, write }, value] = [FIELDS[field], measured[field]];
    return [name, value === null ? NOT_RECORDED : write(value)];
  }),
];

/** Everything about an episode: of what only some of its messages have, how many. */
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
  /** Null where it is missing. */
  readonly source: string | null;
  /** Whether it gives back a value. */
  readonly returns: boolean;
}

export interface ExaminedTest {
  /** The assertion, or the whole test program. */
  readonly source: string;
  readonly passed: boolean;
  /** What happened, bounded; empty where it passed. Programs write parts of it. */
  readonly detail: string;
}

/**
 * How the main function uses the helper: whether it calls it, whether the result matters, whether that is all it does.
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
  /** Where both together cannot be parsed; null where they can. */
  readonly syntax: { readonly line: number; readonly column: number; readonly message: string } | null;
  /** As it is written; null where that cannot be parsed or is missing. */
  readonly usage: HelperUsage | null;
  /** As it runs; absent where it was not run for that, or no test passed. */
  readonly executed?: HelperUsage;
  /** Empty where none was run: without a main function, or where nothing can be parsed. */
  readonly tests: readonly ExaminedTest[];
  /** How many tests there are, run or not. */
  readonly testCount: number;
}

/** The examination of a program, or why there is none. */
export type Examined = Examination | { readonly masked: string; readonly rule: string };
