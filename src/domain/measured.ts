/**
 * What was measured of the call that said a message, as far as it was recorded: one list of fields for the store and
 * for every place that shows them, of one message and of an episode. Pure.
 */

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
