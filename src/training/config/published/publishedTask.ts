/** The problems of a file of the published scripts: which ones, and how many steps its epochs are. */
import { sliceBounds } from '../../../shared/text/slice.ts';
import type { KeyPath } from '../../../team/document.ts';
import type { Fault } from '../configFaults.ts';
import type { PublishedFile } from './publishedKeys.ts';
import type { PublishedFacts, PublishedNote, Row } from './publishedRow.ts';

interface DataSet {
  /** Problems in the published file. */
  readonly problems: number;
  readonly train: string;
  readonly evaluation: string;
  readonly words: string;
}

/** The data sets of the scripts, with the slices of the published files. */
const DATA_SETS: Readonly<Record<NonNullable<PublishedFile['dataset']['type']>, DataSet>> = {
  humaneval: { problems: 164, train: 'test[33:163]', evaluation: 'test[:32]', words: 'HumanEval' },
  coophumaneval: { problems: 82, train: 'test[16:]', evaluation: 'test[:16]', words: 'CoopHumanEval' },
  mbpp: { problems: 427, train: 'test[15:65]', evaluation: 'test[:15]', words: 'MBPP' },
};

interface Trainer {
  readonly name: 'magrpo' | 'grpo';
  readonly num_agents: number;
  readonly num_turns: number;
  readonly num_train_epochs?: number | undefined;
}

/** Problems of a slice such as `test[16:]` of a list, as Python counts; null where it is none. */
export function slicedCount(slice: string, length: number): number | null {
  const bounds = sliceBounds(slice, length);
  return bounds === null ? null : bounds.to - bounds.from;
}

/** The data set that a file means: what it says, or what its name says. */
function typeOf({ type, name }: PublishedFile['dataset']): keyof typeof DATA_SETS {
  const written = (name ?? '').toLowerCase();
  const named = written.includes('mbpp')
    ? 'mbpp'
    : /coop.*humaneval|che/u.test(written)
      ? 'coophumaneval'
      : 'humaneval';
  return type ?? named;
}

/** Which problems, how many steps over them, and on how many others the team is evaluated. */
export function publishedTask(
  { dataset }: Pick<PublishedFile, 'dataset'>,
  trainer: Trainer,
  facts: PublishedFacts,
): { readonly rows: readonly Row[]; readonly notes: readonly PublishedNote[]; readonly faults: readonly Fault[] } {
  const set = DATA_SETS[typeOf(dataset)];
  const own = dataset.name === undefined ? null : facts.problemsIn(dataset.name);
  const count = own ?? set.problems;
  // The slices of a data set mean nothing in somebody's own file.
  const slices = {
    train_split: dataset.train_split ?? (own === null ? set.train : 'train'),
    eval_split: dataset.eval_split ?? (own === null ? set.evaluation : 'train[:0]'),
  };
  const [train, held] = [slicedCount(slices.train_split, count), slicedCount(slices.eval_split, count)];
  if (train === null || train === 0 || held === null) {
    const key = held === null ? 'eval_split' : 'train_split';
    const sentence =
      train === 0
        ? `${slices[key]} holds none of the ${count} problems.`
        : `${slices[key].slice(0, 60)} is no slice; write it as test[16:].`;
    return { rows: [], notes: [], faults: [{ path: ['dataset', key], of: 'value', sentence, nearest: null }] };
  }
  const epochs = trainer.num_train_epochs ?? (trainer.num_turns > 1 ? 7 : 10);
  const from: KeyPath = ['dataset', 'name'];
  const rows: Row[] = [
    ['title', `${trainer.name.toUpperCase()}, ${own === null ? set.words : 'own problems'}`, [trainer.name]],
    ['task.name', 'functions', from],
    ['task.roles', trainer.num_agents, [trainer.name, 'num_agents']],
    ['evaluator', 'ladder', [trainer.name]],
    ['steps', epochs * train, [trainer.name, 'num_train_epochs']],
    ['evaluation.instances', held, ['dataset', 'eval_split']],
    ...(own === null
      ? []
      : ([
          ['task.train_file', dataset.name, from],
          ['task.format', 'humaneval', from],
          ['task.train_split', slices.train_split, ['dataset', 'train_split']],
          // Nothing is evaluated where the slice is empty.
          ...(held === 0 ? [] : [['task.evaluation_split', slices.eval_split, ['dataset', 'eval_split']] as const]),
        ] as const)),
  ];
  const instead: PublishedNote = {
    path: from,
    sentence: `${dataset.name ?? set.words} is no file here, and nothing is downloaded; the bundled functions are used in its place, a new one in each step and as many as eval_split holds in evaluations.`,
    warns: false,
  };
  const passes: PublishedNote = {
    path: [trainer.name, 'num_train_epochs'],
    sentence: `${epochs * train} steps, one problem in each: ${epochs} passes over ${train} problems.`,
    warns: false,
  };
  return { rows, notes: own === null ? [instead, passes] : [passes], faults: [] };
}
