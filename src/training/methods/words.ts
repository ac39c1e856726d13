/**
 * The methods by the names that configurations give them: what is said of each, and which keys it reads. Their
 * algorithms are in methods.ts.
 */

/** Configuration keys that only some methods read. */
export type MethodKey = 'fanout' | 'credit.estimator' | 'credit.alpha' | 'credit.common_random_numbers' | 'value_head';

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

const WORDS = {
  c3: {
    label: 'C3',
    help: 'Replays the messages of one context: the credit of a message is its return against that of its siblings.',
    summary:
      'credits a message against alternatives from the same context, each continued to the end by replay; its baseline leaves the message itself out.',
    reads: ['fanout', 'credit.estimator', 'credit.alpha', 'credit.common_random_numbers', 'value_head'],
    trains: true,
  },
  c3_no_replay: {
    label: 'C3 without replay',
    help: 'c3 without replays: compares whole episodes of one instance, leave-one-out.',
    summary:
      'whole episodes instead of replays: a message is compared with those of its role in other episodes, leave-one-out.',
    reads: [],
    trains: true,
  },
  c3_full_mean: {
    label: 'C3 with full mean',
    help: 'c3 without leave-one-out: the baseline of a message includes its own return.',
    summary: 'as C3, but the baseline is the mean of all alternatives, the message itself included.',
    reads: ['fanout', 'credit.common_random_numbers'],
    trains: true,
  },
  magrpo: {
    label: 'MAGRPO',
    help: 'Compares whole episodes with the mean of their group; all roles get the same credit.',
    summary: 'an episode\u2019s return less the mean of its group, for every message of the episode alike.',
    reads: [],
    trains: true,
  },
  mappo: {
    label: 'MAPPO',
    help: 'Compares whole episodes with a learned value of the state, one for each role.',
    summary: 'a centralized value head on the state is the baseline.',
    reads: ['value_head'],
    trains: true,
  },
  sft: {
    label: 'SFT',
    help: 'The team without training: nothing is learned, whatever `steps` says.',
    summary: 'the team as it comes, not trained further.',
    reads: [],
    trains: false,
  },
} as const satisfies Readonly<Record<string, MethodWords>>;

export type MethodName = keyof typeof WORDS;

const isMethodName = (name: string): name is MethodName => Object.hasOwn(WORDS, name);

/** Names in the order in which interfaces list them. */
export const METHOD_NAMES: readonly MethodName[] = Object.keys(WORDS).filter(isMethodName);

/** What is said of a method. */
export const methodWords = (name: MethodName): MethodWords => WORDS[name];

/** The same for a name that a store gives; undefined where it is none of ours. */
export const knownMethodWords = (name: string): MethodWords | undefined =>
  isMethodName(name) ? WORDS[name] : undefined;

/** Whether a method reads a key that not every method does. */
export const methodReads = (name: MethodName, key: MethodKey): boolean => methodWords(name).reads.includes(key);

/** The names of the methods that read a key which not every method does. */
export const methodsThatRead = (key: MethodKey): readonly MethodName[] =>
  METHOD_NAMES.filter((name) => methodReads(name, key));
