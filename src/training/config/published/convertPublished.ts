/**
 * Converts a file of the published MAGRPO scripts to a configuration of this product. Pure: the result
 * depends only on the file and the given facts about the disk.
 */

import { LADDER_POINTS } from '../../../evaluate/ladder.ts';
import { findNearestName } from '../../../shared/errors.ts';
import { isRecord } from '../../../shared/guard.ts';
import { parseSlice } from '../../../shared/text/slice.ts';
import type { KeyPath } from '../../../team/document.ts';
import { configSchema } from '../config.ts';
import { examineConfig, toFaults, type Known, type Fault } from '../configFaults.ts';
import { mergeOver } from '../overrides.ts';
import {
  isPublishedSection,
  JOINT_MODES,
  PUBLISHED_SECTIONS,
  PUBLISHED_TOP_K,
  publishedSchema,
  type PublishedFile,
} from './publishedKeys.ts';
import type { PublishedFacts, PublishedNote, Row } from './publishedRow.ts';

/** Facts of an empty disk, for an editor that may not read it. */
export const NOTHING_THERE: PublishedFacts = { isFolder: () => false, problemsIn: () => null };

export interface Converted {
  /** Keys of this product, as a user would write them. */
  readonly value: object;
  /** The reasons why the file cannot be converted; the value is then of no use. */
  readonly faults: readonly Fault[];
  readonly notes: readonly PublishedNote[];
  /** The key of the file that each key of this product comes from. */
  readonly from: ReadonlyMap<string, KeyPath>;
}

/** The expert if a file names none. */
const PUBLISHED_EXPERT = 'deepseek-coder';

/** The points of the ladder that one agent without a helper can get. */
const SINGLE_POINTS = 2.1;

/** Pairs of names for one key: the README's, and one that a version of the code used. */
const SPELLINGS = [
  ['output', 'save_model', 'save_final_model'],
  ['external', 'expert_edits_model', 'expert_model'],
  ['external', 'previous_prompts', 'original_prompt'],
  ['external', 'previous_responses', 'previous_response'],
  ...(['magrpo', 'grpo'] as const).flatMap((section) => [
    [section, 'learning_rate', 'agent_learning_rate'] as const,
    [section, 'termination_threshold', 'early_termination_threshold'] as const,
  ]),
] as const;

const KNOWN: Known = {
  values: Object.fromEntries(
    Object.entries(PUBLISHED_SECTIONS).map(([name, section]) => [
      name,
      Object.fromEntries(('shape' in section ? Object.keys(section.shape) : []).map((key) => [key, ''])),
    ]),
  ),
  paths: Object.entries(PUBLISHED_SECTIONS).flatMap(([name, section]) => [
    name,
    ...('shape' in section ? Object.keys(section.shape).map((key) => `${name}.${key}`) : []),
  ]),
};

/**
 * Converts a file. Top-level keys that the scripts do not have are keys of this product and are merged
 * over the result, so that such a file can also hold `steps`, `seed` and `device`.
 */
export function convertPublished(given: Readonly<Record<string, unknown>>, facts: PublishedFacts): Converted {
  const entries = Object.entries(given);
  const file = Object.fromEntries(entries.filter(([key]) => isPublishedSection(key)));
  const own = Object.fromEntries(entries.filter(([key]) => !isPublishedSection(key)));
  const strangers = [
    ...Object.keys(own)
      .filter((key) => !Object.hasOwn(configSchema.shape, key))
      .map(makeStrangerFault),
    // Unknown keys within this product's sections are reported together with those of the scripts.
    ...examineConfig(configSchema, own).faults.filter(({ of, path }) => of === 'key' && path.length > 1),
  ];
  const parsed = publishedSchema.safeParse(useReadmeNames(removeEmptySections(file)));
  if (!parsed.success) {
    const faults = parsed.error.issues
      .filter((issue) => issue.code === 'unrecognized_keys' || isWrittenKey(file, issue.path))
      .flatMap((issue) => toFaults(issue, KNOWN, file));
    return { value: {}, faults: [...strangers, ...faults], notes: [], from: new Map() };
  }
  const { rows, notes, faults: wrong } = convertSections(parsed.data, facts);
  const faults = [...strangers, ...listTrainerFaults(parsed.data), ...wrong];
  if (faults.length > 0) {
    return { value: {}, faults, notes: [], from: new Map() };
  }
  const value = rows.reduce<unknown>((laid, [key, one]) => mergeOver(laid, nestAtPath(key.split('.'), one)), {});
  const laid = mergeOver(value, own);
  return {
    value: isRecord(laid) ? laid : {},
    faults: [],
    notes: [...notes, ...listSpellingNotes(file), ...listIgnoredNotes(file)],
    from: new Map(rows.map(([key, , from]) => [key, from])),
  };
}

/** Removes sections without content: they have no keys. */
const removeEmptySections = (file: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(file).filter(([, section]: [string, unknown]) => section !== null));

/** Returns the file with the README's names added for the code's names. */
const useReadmeNames = (file: Readonly<Record<string, unknown>>): object =>
  SPELLINGS.reduce((read, [section, readme, code]) => {
    const keys = read[section];
    return isRecord(keys) && keys[code] !== undefined && keys[readme] === undefined
      ? { ...read, [section]: { ...keys, [readme]: keys[code] } }
      : read;
  }, file);

/** Returns true if the file has the key itself, and not only another spelling of it. */
const isWrittenKey = (file: unknown, path: readonly PropertyKey[]): boolean =>
  path.length === 0 || (isRecord(file) && path.slice(0, 2).every((_, at) => hasPath(file, path.slice(0, at + 1))));

const hasPath = (value: unknown, [first, ...rest]: readonly PropertyKey[]): boolean =>
  first === undefined || (isRecord(value) && Object.hasOwn(value, first) && hasPath(value[String(first)], rest));

const nestAtPath = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

function makeStrangerFault(key: string): Fault {
  const nearest = findNearestName(key, [...Object.keys(PUBLISHED_SECTIONS), ...Object.keys(configSchema.shape)]);
  const hint =
    nearest === undefined ? `sections are ${Object.keys(PUBLISHED_SECTIONS).join(', ')}.` : `did you mean ${nearest}?`;
  return { path: [key], of: 'key', sentence: `unknown key; ${hint}`, nearest: nearest ?? null };
}

function listTrainerFaults({ magrpo, grpo }: PublishedFile): Fault[] {
  const fault = (path: KeyPath, sentence: string): Fault => ({ path, of: 'value', sentence, nearest: null });
  if (magrpo !== undefined && grpo !== undefined) {
    return [fault(['grpo'], 'magrpo is given too; keep the section of the trainer that is meant.')];
  }
  return grpo !== undefined && grpo.num_agents !== 1
    ? [fault(['grpo', 'num_agents'], 'must be 1; for two agents name the section magrpo.')]
    : [];
}

function convertSections(
  file: PublishedFile,
  facts: PublishedFacts,
): { rows: Row[]; notes: PublishedNote[]; faults: readonly Fault[] } {
  const { output, external, reward_processor: processor, grpo } = file;
  const agentSection = file.agent_model === undefined ? 'model' : 'agent_model';
  const model = file.agent_model ?? file.model;
  const name = grpo === undefined ? 'magrpo' : 'grpo';
  const trainer = grpo ?? file.magrpo ?? PUBLISHED_SECTIONS.magrpo.parse({});
  const at = (key: string): KeyPath => [name, key];
  const task = convertTask(file, { name, ...trainer }, facts);
  const factor = processor.enabled ? processor.scale_factor : 1;
  const shift = processor.shift === undefined ? trainer.reward_shift : processor.enabled ? processor.shift : null;
  const there = facts.isFolder(model.name);
  const notes: PublishedNote[] = there
    ? []
    : [
        {
          path: [agentSection, 'name'],
          sentence: `${model.name} is not a folder here, and nothing is downloaded; the bundled model is used in its place.`,
          warns: false,
        },
      ];
  const sampled = (key: 'temperature' | 'top_p'): Row => [
    `sampling.${key}`,
    trainer[key] ?? model[key],
    trainer[key] === undefined ? [agentSection, key] : at(key),
  ];
  const topK = trainer.top_k === undefined ? model.top_k : trainer.top_k;
  const shiftFrom: KeyPath = processor.shift === undefined ? at('reward_shift') : ['reward_processor', 'shift'];
  const rows: Row[] = [
    ['method', 'magrpo', [name]],
    ['model', there ? model.name : 'bundled', [agentSection, 'name']],
    sampled('temperature'),
    sampled('top_p'),
    ['sampling.top_k', topK === undefined ? PUBLISHED_TOP_K : (topK ?? 0), [name]],
    ['sampling.max_new_tokens', trainer.max_new_tokens, at('max_new_tokens')],
    ['evaluator_budget', countTreeRewards(trainer), at('num_turns')],
    ['instances_per_step', trainer.per_device_train_batch_size, at('per_device_train_batch_size')],
    ...(trainer.save_steps === undefined ? [] : [['checkpoint_every', trainer.save_steps, at('save_steps')] as const]),
    ['ppo.learning_rate', trainer.learning_rate, at('learning_rate')],
    // The learning rate is constant, and there is no KL penalty.
    ['ppo.warmup_fraction', 0, at('learning_rate')],
    ['ppo.final_fraction', 1, at('learning_rate')],
    ['ppo.kl_coefficient', 0, [name]],
    ['magrpo.num_agents', trainer.num_agents, at('num_agents')],
    ['magrpo.joint_mode', JOINT_MODES[trainer.joint_mode], at('joint_mode')],
    ['magrpo.num_turns', trainer.num_turns, at('num_turns')],
    ['magrpo.num_generations', trainer.num_generations, at('num_generations')],
    ['magrpo.termination_threshold', trainer.termination_threshold, at('termination_threshold')],
    ['magrpo.discount', trainer.discount, at('discount')],
    ['magrpo.reward_shift', shift, shiftFrom],
    // Scores are shares of the ladder's points; shift and threshold are in points, as in the scripts.
    ['magrpo.reward_processor.enabled', true, ['reward_processor', 'enabled']],
    ['magrpo.reward_processor.scale_factor', factor * LADDER_POINTS, ['reward_processor', 'scale_factor']],
    // A score is at most 1, so no stored return is clipped, as in the scripts.
    ['credit.return_clip', trainer.num_turns, at('num_turns')],
    ['magrpo.cross_reduce', trainer.cross_reduce, at('cross_reduce')],
    ['external.mode', external.mode, ['external', 'mode']],
    ['external.memory_mode', external.memory_mode, ['external', 'memory_mode']],
    ['external.previous_prompts', external.previous_prompts, ['external', 'previous_prompts']],
    ['external.previous_responses', external.previous_responses, ['external', 'previous_responses']],
    ['external.sandbox_slice', toSliceNumber(external.sandbox_slice), ['external', 'sandbox_slice']],
    ...(external.mode === 'expert_edits'
      ? [['external.expert_edits_model', 'rules', ['external', 'expert_edits_model']] as const]
      : []),
    ['output.save_model', output.save_model ?? false, ['output', 'save_model']],
    ['output.save_path', output.save_path ?? null, ['output', 'save_path']],
    ['output.verbose', output.verbose, ['output', 'verbose']],
    ...task.rows,
  ];
  return {
    rows,
    notes: [
      ...notes,
      ...listExpertNotes(external),
      ...listCeilingNotes({ ...trainer, reward_shift: shift }, factor, at),
      ...task.notes,
    ],
    faults: task.faults,
  };
}

/** Returns the number of joint actions that the tree of one problem scores. */
function countTreeRewards({
  num_agents: agents,
  num_turns: turns,
  num_generations: each,
  joint_mode: mode,
}: TrainerKeys): number {
  const actions = JOINT_MODES[mode] === 'align' ? each : each ** agents;
  return Array.from({ length: turns }, (_, turn) => actions ** (turn + 1)).reduce((sum, count) => sum + count, 0);
}

type TrainerKeys = NonNullable<PublishedFile['magrpo']>;

/**
 * Returns the number of assertions that the feedback executes. A text with a number counts as that
 * number; any other text means all assertions.
 */
export const toSliceNumber = (given: number | string | null): number =>
  given === null ? 0 : typeof given === 'number' ? given : /^\s*[+-]?\d{1,9}\s*$/u.test(given) ? Number(given) : 0;

/** Warns about a threshold that no reward exceeds (reference section 8). */
function listCeilingNotes(
  { num_agents: agents, termination_threshold: threshold, reward_shift: shift, num_turns: turns }: TrainerKeys,
  factor: number,
  at: (key: string) => KeyPath,
): PublishedNote[] {
  const ceiling = Math.max(0, (agents === 1 ? SINGLE_POINTS : LADDER_POINTS) * factor) + (shift ?? 0);
  if (threshold === null || turns === 1 || threshold < ceiling) {
    return [];
  }
  const sentence = `no reward is above ${Number(ceiling.toFixed(6))}, so no node ends early; write a smaller one, or null.`;
  return [{ path: at('termination_threshold'), sentence, warns: true }];
}

/** Reports that the expert of the file is not asked, because the product's own rules propose the edits. */
function listExpertNotes({
  mode,
  expert_edits_model: named,
  expert_model: coded,
}: PublishedFile['external']): PublishedNote[] {
  const key = coded !== undefined && named === coded ? 'expert_model' : 'expert_edits_model';
  const sentence = `${named ?? PUBLISHED_EXPERT} is not asked: the rules that come with the product propose the edits, and nothing leaves this machine.`;
  return mode === 'expert_edits' ? [{ path: ['external', key], sentence, warns: false }] : [];
}

/** Reports two spellings of one key that have different values. */
function listSpellingNotes(file: object): PublishedNote[] {
  return SPELLINGS.flatMap(([section, readme, code]): PublishedNote[] => {
    const keys: unknown = new Map(Object.entries(file)).get(section);
    if (!isRecord(keys) || keys[readme] === undefined || keys[code] === undefined || keys[readme] === keys[code]) {
      return [];
    }
    const sentence = `differs from ${readme}, which is the same key as the README spells it and holds; keep one of the two.`;
    return [{ path: [section, code], sentence, warns: true }];
  });
}

/** Lists the keys that are read and ignored, in one sentence. */
function listIgnoredNotes(file: object): PublishedNote[] {
  const found = Object.entries(file).flatMap(([section, keys]: [string, unknown]): KeyPath[] => {
    const shape = isPublishedSection(section) ? PUBLISHED_SECTIONS[section] : null;
    if (shape === null || !('shape' in shape)) {
      return keys === null ? [] : [[section]];
    }
    const words: ReadonlyMap<string, { readonly description?: string | undefined }> = new Map(
      Object.entries(shape.shape),
    );
    return (isRecord(keys) ? Object.keys(keys) : [])
      .filter((key) => words.get(key)?.description?.startsWith('Read and ignored') === true)
      .map((key) => [section, key]);
  });
  const [first, ...others] = found;
  const also = others.length === 0 ? '' : `, and so are ${others.map((path) => path.join('.')).join(', ')}`;
  return first === undefined ? [] : [{ path: first, sentence: `read and ignored${also}.`, warns: false }];
}

// Problems and steps of a published file.

interface DataSet {
  /** The number of problems in the published file. */
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

/**
 * Returns the number of problems in a slice such as `test[16:]` of a list, counted as Python does, or
 * null if the text is not a slice.
 */
export function countSliced(slice: string, length: number): number | null {
  const bounds = parseSlice(slice, length);
  return bounds === null ? null : bounds.to - bounds.from;
}

/** Returns the data set of a file: its type, or the one that its name suggests. */
function findDataSetType({ type, name }: PublishedFile['dataset']): keyof typeof DATA_SETS {
  const written = (name ?? '').toLowerCase();
  const named = written.includes('mbpp')
    ? 'mbpp'
    : /coop.*humaneval|che/u.test(written)
      ? 'coophumaneval'
      : 'humaneval';
  return type ?? named;
}

/** Returns the rows for the problems, the steps over them, and the problems for evaluation. */
function convertTask(
  { dataset }: Pick<PublishedFile, 'dataset'>,
  trainer: Trainer,
  facts: PublishedFacts,
): { readonly rows: readonly Row[]; readonly notes: readonly PublishedNote[]; readonly faults: readonly Fault[] } {
  const set = DATA_SETS[findDataSetType(dataset)];
  const own = dataset.name === undefined ? null : facts.problemsIn(dataset.name);
  const count = own ?? set.problems;
  // The slices of a data set mean nothing in the user's own file.
  const slices = {
    train_split: dataset.train_split ?? (own === null ? set.train : 'train'),
    eval_split: dataset.eval_split ?? (own === null ? set.evaluation : 'train[:0]'),
  };
  const [train, held] = [countSliced(slices.train_split, count), countSliced(slices.eval_split, count)];
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
          // Nothing is evaluated if the slice is empty.
          ...(held === 0 ? [] : [['task.evaluation_split', slices.eval_split, ['dataset', 'eval_split']] as const]),
        ] as const)),
  ];
  const instead: PublishedNote = {
    path: from,
    sentence: `${dataset.name ?? set.words} is not a file here, and nothing is downloaded; the bundled functions are used in its place, a new one in each step and as many as eval_split holds in evaluations.`,
    warns: false,
  };
  const passes: PublishedNote = {
    path: [trainer.name, 'num_train_epochs'],
    sentence: `${epochs * train} steps, one problem in each: ${epochs} passes over ${train} problems.`,
    warns: false,
  };
  return { rows, notes: own === null ? [instead, passes] : [passes], faults: [] };
}
