/** Declarations of the commands that show the results of runs, and label, report and delete them. */

import { TAXONOMY_THRESHOLDS, formatThresholds } from '../../../domain/taxonomy.ts';
import type { Declaration } from './declaration.ts';
import { STORE_AND_JSON } from './options.ts';

const RUN = { run: { kind: 'text', value: 'RUN', required: true, help: 'The id of a run.' } } as const;

export const TAXONOMY = {
  name: 'taxonomy',
  summary: 'Sorts the failures of a run into classes, with their evidence.',
  details: 'It also reports how well your labels agree with the classes.',
  arguments: {},
  options: {
    ...RUN,
    thresholds: {
      kind: 'texts',
      value: 'KEY=VALUE',
      help: `Sets a threshold of the classes, such as shift=0.3. They are: ${formatThresholds(TAXONOMY_THRESHOLDS)}.`,
    },
    ...STORE_AND_JSON,
  },
  examples: [['c3 taxonomy --run c3-0-1a2b3c4d', 'Prints the classes of a run.']],
  onlyReads: () => true,
} as const satisfies Declaration;

export const LABEL = {
  name: 'label',
  summary: 'Labels a case, or removes its label.',
  arguments: {
    bucket: { kind: 'row', value: 'BUCKET', help: 'The number of a bucket.' },
    label: {
      kind: 'text',
      value: 'NAME',
      optional: true,
      help: 'A class of the taxonomy, unclassified, or another name of at most 80 characters.',
    },
  },
  options: {
    takeBack: { kind: 'flag', help: 'Removes the label.' },
    note: { kind: 'text', value: 'TEXT', help: 'The reason for the label.' },
    ...STORE_AND_JSON,
  },
  examples: [['c3 label 12 slip', 'Labels bucket 12.']],
} as const satisfies Declaration;

/** Default of --contexts with --sample. The paper gives no number. */
export const SAMPLED_CONTEXTS = 40;
/** Default of --contexts with --emptied, in questions. */
export const EMPTIED_CONTEXTS = 64;
/** Default of --contexts with --training-credit, for each role. */
export const LEARNED_CONTEXTS = 32;
/** Defaults of --replays with --sample or --emptied, and with --training-credit. */
export const DIAGNOSED_REPLAYS = 4;
export const LEARNED_PAIRS = 8;

/** The paper names S, J, c and J_V without numbers; J and c have the values of its published analysis. */
export const DIAGNOSE = {
  name: 'diagnose',
  summary: 'Measures how reliable the credits of a run are, with intervals.',
  details: 'It prints fidelity, variance, influence, pass@k and cost.',
  arguments: {},
  options: {
    ...RUN,
    origin: {
      kind: 'choice',
      choices: ['training', 'request', 'diagnostic'],
      help: 'Measures on the buckets of training, of requested replays, or of diagnostic samples only.',
    },
    sample: { kind: 'flag', help: 'First samples buckets to measure on, from the last evaluation of the run.' },
    emptied: { kind: 'flag', help: 'Instead replays held-out questions with and without the messages of a role.' },
    trainingCredit: {
      kind: 'flag',
      help:
        'Instead replays messages that updates learned from, and compares the credits that the updates used with ' +
        'what these messages are worth.',
    },
    contexts: {
      kind: 'whole',
      value: 'N',
      least: 1,
      help:
        `Samples N contexts. Default: ${SAMPLED_CONTEXTS} with --sample, ${EMPTIED_CONTEXTS} with --emptied, and ` +
        `${LEARNED_CONTEXTS} of each role with --training-credit.`,
    },
    alternatives: {
      kind: 'whole',
      value: 'N',
      least: 2,
      fallback: 8,
      help: 'With --sample: compares N messages in each context, including the one that was said.',
    },
    replays: {
      kind: 'whole',
      value: 'N',
      least: 1,
      help:
        `Replays each message N times. Default: ${DIAGNOSED_REPLAYS} with --sample or --emptied, and ` +
        `${LEARNED_PAIRS} with --training-credit, each paired with another message.`,
    },
    valueSamples: {
      kind: 'whole',
      value: 'N',
      least: 0,
      fallback: 4,
      help: 'With --sample: samples N further messages, which only count for the value of the context.',
    },
    role: { kind: 'text', value: 'ROLE', help: 'When contexts are sampled: measures the messages of this role.' },
    seed: {
      kind: 'whole',
      value: 'N',
      least: 0,
      fallback: 0,
      help: 'When contexts are sampled: the seed of the sampling.',
    },
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 diagnose --run c3-0-1a2b3c4d --sample', 'Samples buckets, and measures on them.'],
    ['c3 diagnose --run c3-0-1a2b3c4d --emptied --role reasoner', 'Measures what the reasoner is worth.'],
    ['c3 diagnose --run c3-0-1a2b3c4d --training-credit', 'Measures whether the run learned from the right credits.'],
  ],
  onlyReads: (args) => !['--sample', '--emptied', '--training-credit'].some((option) => args.includes(option)),
} as const satisfies Declaration;

export const REPORT = {
  name: 'report',
  summary: 'Writes a report of a run or of one message to a file.',
  details: 'Give --run or --message, and --out or --json.',
  arguments: {},
  options: {
    run: { kind: 'text', value: 'RUN', help: 'The run to report.' },
    message: { kind: 'whole', value: 'ID', least: 1, help: 'The message to report.' },
    out: { kind: 'file', value: 'FILE', help: 'A file that does not exist yet: .html for a page, .json for data.' },
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 report --run c3-0-1a2b3c4d --out run.html', 'Writes a page about a run.'],
    ['c3 report --message 1234 --out message.html', 'Writes a page about a message.'],
  ],
  onlyReads: () => true,
} as const satisfies Declaration;

export const NOTE = {
  name: 'note',
  summary: 'Stores your title, note, tags or score for a run or an episode.',
  details: 'Values that are not given stay unchanged.',
  arguments: {
    subject: { kind: 'text', value: 'RUN|MESSAGE', help: 'The id of a run, or the number of a message of an episode.' },
  },
  options: {
    title: { kind: 'text', value: 'TITLE', help: 'The title of the run.' },
    score: {
      kind: 'text',
      value: 'VALUE|none',
      help:
        'Your score of the episode; none removes it. If nothing else scored a recorded episode, your score is ' +
        'its return.',
    },
    note: { kind: 'text', value: 'TEXT', help: 'Your note.' },
    tags: { kind: 'texts', value: 'TAG,TAG', help: 'The tags, separated by commas.' },
    ...STORE_AND_JSON,
  },
  examples: [
    ['c3 note c3-0-1a2b3c4d --title Baseline --tags paper,small', 'Gives a run a title and two tags.'],
    ['c3 note 1234 --score 0 --tags dates', 'Scores the episode of message 1234, and gives it a tag.'],
  ],
} as const satisfies Declaration;

export const DELETE = {
  name: 'delete',
  summary: 'Deletes a run with its weights. This cannot be undone.',
  details: 'This makes the store smaller.',
  arguments: { run: { kind: 'text', value: 'RUN', help: 'The id of a run.' } },
  options: { ...STORE_AND_JSON },
  examples: [['c3 delete c3-0-1a2b3c4d', 'Deletes a run.']],
} as const satisfies Declaration;
