/** The run configuration (`*.c3.yaml`): every key optional, unknown keys and impossible combinations refused by name and line. */
import { parse } from 'yaml';
import { z } from 'zod';
import { ESTIMATORS } from '../credit/creditBucket.ts';
import { EVALUATORS } from '../evaluate/names.ts';
import type { AdapterStart } from '../runtime/host.ts';
import { ADAPTER_MODULES } from '../runtime/transformer.ts';
import { DEVICE_REQUESTS, PRECISIONS } from '../shared/devices.ts';
import { C3Error, messageOf, nearestName } from '../shared/errors.ts';
import type { Sampling } from '../shared/records.ts';
import { SHOWN_TESTS, TASK_FORMATS } from '../tasks/formats.ts';
import { TASK_NAMES } from '../tasks/split.ts';
import { readDocument, type KeyPath, type SourceDocument } from '../team/document.ts';
import type { Protocol } from '../team/protocol.ts';
import { METHOD_NAMES } from './methods/methods.ts';

const positive = z.int().positive();
const share = z.number().min(0).max(1);

/** Keys and defaults. The defaults are the bundled team's run. */
export const configSchema = z.strictObject({
  /** Shown in lists; unless given, it names the bundled task. */
  title: z.string().min(1).max(200).default('Bundled team, arithmetic'),
  /**
   * What the messages are credited by, all at the same evaluator budget. c3: replays of the messages of one context. c3_no_replay, c3_full_mean: without its
   * replays, without leave-one-out. magrpo: whole episodes against their group. mappo: whole episodes against a learned value of the state. sft: the team as it is; nothing is trained, whatever `steps` says.
   */
  method: z.enum(METHOD_NAMES).default('c3'),
  seed: z.int().min(0).default(0),
  /** A model folder, relative to the file; `bundled` is the team that comes with the bundled task. */
  model: z.string().min(1).default('bundled'),
  /** Low-rank factors that are trained over the model as it is (LoRA); null trains all of it. */
  adapter: z
    .strictObject({
      /** Whether the whole team shares one adapter, or each role has its own. */
      per: z.enum(['team', 'role']).default('team'),
      rank: positive.max(4096).default(16),
      /** The factors' product counts alpha / rank. */
      alpha: z.number().positive().max(1e6).default(32),
      target_modules: z.array(z.enum(ADAPTER_MODULES)).min(1).default([...ADAPTER_MODULES]),
    })
    .nullable()
    .default(null),
  /** How a model reads its contexts. */
  chat: z
    .strictObject({
      /** auto: through the chat template of the model's folder where it has one; none: as plain text. */
      template: z.enum(['auto', 'none']).default('auto'),
      /** Lets a model that can reason in tags do so before it answers. */
      thinking: z.boolean().default(false),
    })
    .prefault({}),
  /** A protocol file (JSON or YAML), relative to the file; `bundled` is that of the bundled task: reasoner and actor, or planner and coder for python. */
  protocol: z.string().min(1).default('bundled'),
  task: z
    .strictObject({
      /** The bundled task whose instances are generated unless files are given. */
      name: z.enum(TASK_NAMES).default('arithmetic'),
      /** JSONL or CSV, relative to the file. */
      train_file: z.string().min(1).nullable().default(null),
      evaluation_file: z.string().min(1).nullable().default(null),
      /** The form of the files' rows; auto recognises it row by row. */
      format: z.enum(TASK_FORMATS).default('auto'),
      /** How many of its tests an MBPP question shows; they alone name the function. */
      show_tests: z.enum(SHOWN_TESTS).default('first'),
      /** Mix weights of the bundled task's levels: arithmetic has 8, python 6. */
      levels: z.array(z.number().min(0)).min(1).max(8).default([1, 1, 1, 1]),
      /** Stop when a training question is also evaluated, be it in other case or whitespace. */
      refuse_overlap: z.boolean().default(true),
    })
    .prefault({}),
  /**
   * What scores messages. auto: code by its tests in the sandbox, all of which must pass; the bundled arithmetic by the number that is stated; other answers as
   * mathematics, strictly. math-lenient takes what lies within 4 % too; python-fraction gives the share of the tests that pass.
   */
  evaluator: z.enum(EVALUATORS).default('auto'),
  /** Training iterations; 0 evaluates only. */
  steps: z.int().min(0).default(36),
  instances_per_step: positive.default(32),
  /** Steps between two checkpoints of the optimiser; a crash loses no step, but those since the last checkpoint are executed again. */
  checkpoint_every: positive.default(6),
  /** Steps between two snapshots whose weights are kept (the last always is); those between are rebuilt when a replay needs them, from a checkpoint that is kept for each such stretch. */
  snapshot_every: positive.default(1),
  /** Messages sampled per position of the protocol, by c3 and c3_full_mean; the others sample as many whole episodes as `evaluator_budget` pays for. */
  fanout: z.array(positive).min(1).default([2, 4]),
  /** Evaluator calls per instance and step. */
  evaluator_budget: positive.default(8),
  sampling: z
    .strictObject({
      temperature: z.number().positive().max(10).default(1),
      top_p: z.number().positive().max(1).default(1),
      top_k: z.int().min(0).default(0),
      max_new_tokens: positive.default(48),
    })
    .prefault({}),
  credit: z
    .strictObject({
      /** Of method c3; the others bring their own. value_assisted: leave-one-out with a baseline that is in part what the value head says of the other alternatives. */
      estimator: z.enum([...ESTIMATORS, 'value_assisted']).default('loo'),
      /** The weight of the values in value_assisted. */
      alpha: share.default(1),
      /** Z-scoring within a group. It erases ablations: c3 and c3_full_mean then give the same advantages, and so do c3_no_replay and magrpo. */
      group_normalise: z.boolean().default(false),
      /** Replay m of one alternative draws the same random numbers as replay m of its siblings: differences of returns vary less, and nothing is biased. Whole episodes (c3_no_replay, magrpo, mappo) never do. */
      common_random_numbers: z.boolean().default(true),
      return_clip: z.number().positive().default(10),
    })
    .prefault({}),
  ppo: z
    .strictObject({
      learning_rate: z.number().positive().default(1e-4),
      warmup_fraction: share.default(0.03),
      final_fraction: share.default(0.1),
      epochs: positive.default(1),
      kl_coefficient: z.number().min(0).default(0.01),
      /** k3 in the loss, or k1 taken from the advantages token by token. */
      kl_estimator: z.enum(['k3', 'k1']).default('k3'),
    })
    .prefault({}),
  /**
   * Of method mappo and the estimator value_assisted: how the value head learns, with the schedule of the policy's rate. A value that has moved by more than `clip` in a step learns nothing further.
   * The published rate of 5e-5 is that of a whole network as critic; a single layer that begins at 0 needs more.
   */
  value_head: z
    .strictObject({
      learning_rate: z.number().positive().default(1e-3),
      /** Optimiser steps per step of the run. */
      epochs: positive.default(8),
      clip: z.number().positive().default(0.5),
    })
    .prefault({}),
  memory: z
    .strictObject({
      /** What a run may take, in GB of 1e9 bytes; null for what the machine has. On an accelerator, of its memory. */
      limit_gb: z.number().positive().nullable().default(null),
      /** Input slots of one micro-batch. */
      micro_batch_tokens: positive.default(2048),
      /** Activations are computed again in the backward pass instead of kept: less memory, about a third more time. */
      recompute: z.boolean().default(false),
    })
    .prefault({}),
  evaluation: z
    .strictObject({
      /** Held-out instances of each evaluation; 0 leaves evaluation out. */
      instances: z.int().min(0).default(512),
      /** Episodes per instance of a sampled evaluation; pass@k needs k of them, and every instance counts with their mean. */
      samples: positive.max(1000).default(1),
      /** Whether the team is evaluated before it is trained too. */
      before: z.boolean().default(true),
      /** Episodes that are sampled together. */
      batch: positive.default(256),
    })
    .prefault({}),
  /** Where the run computes; `device: webgpu` is short for its provider. `auto` takes the first accelerator that is exact and faster than the CPU. */
  device: z
    .preprocess(
      (value) => (typeof value === 'string' ? { provider: value } : value),
      z.strictObject({
        provider: z.enum(DEVICE_REQUESTS).default('cpu'),
        threads: z.int().positive().max(64).default(2),
        /** What the model's weights are held in while an adapter is trained over them (or nothing); float16 takes half the memory and rounds them. */
        precision: z.enum(PRECISIONS).default('float32'),
      }),
    )
    .prefault({}),
});

export type RunConfig = z.infer<typeof configSchema>;

/** The sampling that a configuration asks for. */
export function runSampling(config: RunConfig): Sampling {
  const { temperature, top_p: topP, top_k: topK, max_new_tokens: maxNewTokens } = config.sampling;
  return { temperature, topP, topK, maxNewTokens };
}

/** The adapters that a configuration asks for, drawn from the run's seed; undefined where the whole model is trained. */
export function runAdapter({ adapter, seed }: Pick<RunConfig, 'adapter' | 'seed'>, { roles }: Pick<Protocol, 'roles'>): AdapterStart | undefined {
  if (adapter === null) return undefined;
  const settings = { rank: adapter.rank, alpha: adapter.alpha, targetModules: adapter.target_modules };
  return { settings, seed, ...(adapter.per === 'role' && { agents: roles.map(({ name }) => name) }) };
}

/**
 * Reads a configuration with overrides.
 * @param text YAML or JSON; empty for the defaults
 * @param source how messages name the text
 * @param overrides `key.path=value`, the value in YAML
 * @throws C3Error('input') naming source, line, key and the nearest valid key
 */
export function readConfig(text: string, source: string, overrides: readonly string[] = []): RunConfig {
  const document = readDocument(text, source);
  const base: unknown = document.value ?? {};
  if (typeof base !== 'object' || base === null || Array.isArray(base)) throw document.error([], 'must be a mapping of keys to values.');
  const value = overrides.reduce<object>(applyOverride, structuredClone(base));
  const overridden = new Set(overrides.map((override) => override.split('=', 1)[0] ?? ''));
  const parsed = configSchema.safeParse(value);
  if (!parsed.success) throw explain(parsed.error.issues[0], document, overridden);
  // What is not trained has no steps.
  const config = parsed.data.method === 'sft' ? { ...parsed.data, steps: 0 } : parsed.data;
  const fail = (key: string, problem: string): C3Error => errorAt(key.split('.'), problem, document, overridden);
  const leaves = config.fanout.reduce((product, count) => product * count, 1);
  if (usesFanout(config) && leaves > config.evaluator_budget) {
    throw fail('fanout', `[${config.fanout.join(', ')}] needs ${String(leaves)} evaluator calls per instance, more than evaluator_budget (${String(config.evaluator_budget)}).`);
  }
  if (config.method !== 'c3' && config.credit.estimator !== 'loo') throw fail('credit.estimator', `belongs to method c3, and ${config.method} has a credit of its own; leave it out.`);
  if (config.chat.thinking && config.chat.template === 'none') throw fail('chat.thinking', 'needs chat.template: auto; plain text has no reasoning part.');
  if (config.device.precision === 'float16' && config.adapter === null && config.steps > 0) throw fail('device.precision', 'float16 holds weights that are not trained; give the run an adapter, or leave float32.');
  if (config.task.train_file === null && config.task.evaluation_file !== null) throw fail('task.evaluation_file', 'needs task.train_file beside it.');
  if (config.task.train_file === null && config.task.levels.every((weight) => weight === 0)) throw fail('task.levels', 'needs at least one level with a positive weight.');
  return Object.hasOwn(value, 'title') ? config : { ...config, title: `Bundled team, ${config.task.name}` };
}

const usesFanout = ({ method }: RunConfig): boolean => method === 'c3' || method === 'c3_full_mean';

function applyOverride(value: object, override: string): object {
  const split = override.indexOf('=');
  if (split < 1) throw new C3Error('input', `--override ${override}: write key.path=value.`);
  const path = override.slice(0, split).split('.');
  let parsed: unknown;
  try {
    parsed = parse(override.slice(split + 1));
  } catch (error) {
    throw new C3Error('input', `--override ${override}: the value is not YAML: ${messageOf(error).split('\n')[0] ?? ''}`);
  }
  return setIn(value, path, parsed, override);
}

function setIn(value: object, [key = '', ...rest]: readonly string[], leaf: unknown, override: string): object {
  const entries = new Map<string, unknown>(Object.entries(value));
  if (rest.length === 0) entries.set(key, leaf);
  else {
    const inner = entries.get(key) ?? {};
    if (typeof inner !== 'object' || Array.isArray(inner)) throw new C3Error('input', `--override ${override}: ${key} is no mapping.`);
    entries.set(key, setIn(inner, rest, leaf, override));
  }
  return Object.fromEntries(entries);
}

function explain(issue: z.core.$ZodIssue | undefined, document: SourceDocument, overridden: ReadonlySet<string>): C3Error {
  if (issue === undefined) return document.error([], 'is not a valid configuration.');
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  if (issue.code !== 'unrecognized_keys') return errorAt(path, `${issue.message}.`, document, overridden);
  const name = issue.keys[0] ?? '';
  const nearest = nearestName(name, keysAt(path));
  return errorAt([...path, name], `is no known key${nearest === undefined ? `; known here: ${keysAt(path).join(', ')}` : `; did you mean ${nearest}?`}`, document, overridden);
}

function errorAt(path: KeyPath, problem: string, document: SourceDocument, overridden: ReadonlySet<string>): C3Error {
  const name = path.join('.');
  return overridden.has(name) ? new C3Error('input', `--override ${name}: ${problem}`) : document.error(path, problem);
}

/** The keys that the schema knows below a path. */
function keysAt(path: KeyPath): string[] {
  // An adapter has keys where it is not left out.
  let value: unknown = configSchema.parse({ adapter: {} });
  for (const part of path) value = typeof value === 'object' && value !== null ? new Map<string | number, unknown>(Object.entries(value)).get(part) : undefined;
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}
