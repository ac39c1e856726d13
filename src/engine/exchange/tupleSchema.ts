/** The schema of exported tuples: the header of a file, and its columns. */

import type { Sampling } from '../../domain/message.ts';
import type { LearnedTuple } from '../../training/learnedTuples.ts';

/** A tuple with the names of its run and problem. */
export interface TupleRow extends LearnedTuple {
  readonly run: string;
  readonly uid: string;
}

/** The first line of a file in JSON Lines, and the key-value metadata of a Parquet file. */
export interface TupleHeader {
  readonly schema: 'c3-tuples';
  /** Raised when a column changes its meaning or goes. New columns may come without it. */
  readonly version: 1;
  readonly run: string;
  readonly method: string;
  readonly seed: number;
  /** The name under which credits are stored. */
  readonly estimator: string;
  /** SHA-256 of the weights that the run began with. */
  readonly model: string;
  /** SHA-256 of the tokenizer's files. */
  readonly tokenizer: string;
  /** The sampling of the run, whose temperature log-probabilities are at. */
  readonly sampling: Sampling;
  /** The version of the program that wrote the file. */
  readonly c3: string;
  readonly command: string;
  /** What each column has. */
  readonly columns: Readonly<Record<string, string>>;
}

/** Writes rows into a file. */
export interface TupleWriter {
  write: (row: TupleRow) => void;
  /** Writes what is left. */
  finish: () => void;
}

/** int32, int64, float and double are those of Parquet; a list has values of its type. */
export type TupleColumn = { readonly name: string; readonly words: string } & (
  | { readonly type: 'text'; readonly of: (row: TupleRow) => string }
  | { readonly type: 'int32' | 'int64' | 'float' | 'double'; readonly of: (row: TupleRow) => number }
  | { readonly type: 'list of int32'; readonly of: (row: TupleRow) => Int32Array }
  | { readonly type: 'list of float'; readonly of: (row: TupleRow) => Float32Array | null }
);

/** The columns in order. */
export const TUPLE_COLUMNS: readonly TupleColumn[] = [
  { name: 'run', type: 'text', words: 'The id of the run.', of: ({ run }) => run },
  { name: 'step', type: 'int32', words: 'The step of the run, from 1.', of: ({ iteration }) => iteration },
  {
    name: 'stage',
    type: 'int32',
    words: 'The sampling within the step, from 0; only teamtr samples more than once.',
    of: ({ stage }) => stage,
  },
  { name: 'message', type: 'int64', words: 'The id of the message in the store.', of: ({ message }) => message },
  {
    name: 'group',
    type: 'int64',
    words: 'The bucket: messages of one group answered one context, one after another.',
    of: ({ bucket }) => bucket,
  },
  { name: 'problem', type: 'text', words: 'The uid of the problem.', of: ({ uid }) => uid },
  { name: 'role', type: 'text', words: 'The role that said it.', of: ({ role }) => role },
  {
    name: 'position',
    type: 'int32',
    words: 'The place of the message in its episode, from 0.',
    of: ({ position }) => position,
  },
  { name: 'turn', type: 'int32', words: 'The number of earlier messages of its role.', of: ({ turn }) => turn },
  { name: 'snapshot', type: 'text', words: 'SHA-256 of the weights that sampled it.', of: ({ snapshot }) => snapshot },
  {
    name: 'finish',
    type: 'text',
    words: 'Why the message ended: end (its last token ends it) or length.',
    of: ({ finish }) => finish,
  },
  { name: 'prompt_ids', type: 'list of int32', words: 'The token ids of the context.', of: ({ prompt }) => prompt },
  {
    name: 'message_ids',
    type: 'list of int32',
    words: 'The token ids of the message as sampled, with the token that ended it.',
    of: ({ tokens }) => tokens,
  },
  {
    name: 'logprobs',
    type: 'list of float',
    words: 'The log-probability of each token of the message under the weights that sampled it, at the temperature.',
    of: ({ logprobs }) => logprobs,
  },
  {
    name: 'reference_logprobs',
    type: 'list of float',
    words: 'The same under the weights that the run began with: null, because the store does not keep them.',
    of: () => null,
  },
  {
    name: 'advantage',
    type: 'float',
    words: 'The advantage of each token of the message, after any scaling and before a KL penalty.',
    of: ({ advantage }) => advantage,
  },
  {
    name: 'weight',
    type: 'double',
    words: 'The weight of each token of the message in the loss of an optimizer step.',
    of: ({ weight }) => weight,
  },
];
