/** Finds all faults of a configuration: unknown keys, wrong values, and impossible combinations. */

import { z } from 'zod';
import { getEvaluatorKind } from '../../evaluate/kinds.ts';
import { findNearestName } from '../../shared/errors.ts';
import { findBundledModelFault, isBundledName, TASK_FORMATS, TEAM_SIZES } from '../../shared/runNames.ts';
import type { KeyPath } from '../../team/document.ts';
import { modeRunsTests } from '../keys/externalKeys.ts';
import { unwrapSchema, listSectionKeys } from '../keys/keyKinds.ts';
import { predictsCredit } from '../methods/autoTree.ts';
import { methodReadsKey, listMethodsReading, getMethodWords } from '../methods/methods.ts';
import type { configSchema, RunConfig } from './config.ts';

type Scoring = Pick<RunConfig, 'evaluator' | 'scorer'>;

/** Returns the fault of an evaluator that lacks a setting, to follow its key, or null. */
function findEvaluatorFault({ evaluator, scorer }: Scoring): string | null {
  if (evaluator === 'command' && scorer?.command === undefined) {
    return 'command needs the command that scores; add scorer: {command: [PROGRAM, ARGUMENT]}.';
  }
  const complete = scorer?.rubric !== undefined && scorer.judge !== undefined && scorer.labels !== undefined;
  return evaluator === 'judge' && !complete
    ? 'judge needs a rubric, a judge, and labeled messages to measure it on; add scorer: {rubric: TEXT, judge: {endpoint: ADDRESS, model_name: NAME}, labels: FILE}.'
    : null;
}

/** Returns the reason why a scorer has no use, to follow its key, or null if it has one. */
const findScorerFault = ({ evaluator, scorer }: Scoring): string | null =>
  evaluator === 'command' || evaluator === 'judge' || scorer === null
    ? null
    : 'belongs to evaluator: command or judge; omit it, or choose one of them.';

/** Longer values are not repeated in messages. */
const MAX_SHOWN = 200;

/** The largest number of unknown keys of one section that are looked up. */
const MOST_UNKNOWN = 200;

export interface Fault {
  readonly path: KeyPath;
  /** Says if the last part of the path names an unknown key or a value. */
  readonly of: 'key' | 'value';
  /** Follows the path in the message. */
  readonly sentence: string;
  /** The value that was probably meant, or null if unknown. */
  readonly nearest: string | null;
}

export interface Examined {
  /** Null if the schema refuses the value. */
  readonly config: RunConfig | null;
  /** In the order of the schema; empty if the configuration can be run. */
  readonly faults: readonly Fault[];
}

type Schema = typeof configSchema;

/** An impossible combination of keys. It is checked only if all of its keys are well-formed. */
interface Rule {
  readonly keys: readonly [string, ...string[]];
  /** Returns the text that follows the first key, or null if nothing is wrong. */
  readonly fault: (config: RunConfig) => string | null;
}

const RULES: readonly Rule[] = [
  {
    keys: ['fanout', 'method', 'shape', 'evaluator_budget', 'magrpo'],
    fault: ({ fanout, method, shape, evaluator_budget: budget, magrpo }) => {
      const leaves = fanout.reduce((product, count) => product * count, 1);
      return magrpo === null && methodReadsKey(method, 'fanout') && shape === 'nested' && leaves > budget
        ? `[${fanout.join(', ')}] needs ${leaves} evaluator calls per problem, more than evaluator_budget (${budget}).`
        : null;
    },
  },
  {
    keys: ['credit.estimator', 'method'],
    fault: ({ credit, method }) => {
      if (credit.estimator === 'loo' || methodReadsKey(method, 'credit.estimator')) {
        return null;
      }
      return `belongs to method ${listMethodsReading('credit.estimator').join(', ')}, and ${method} has its own credit; omit it.`;
    },
  },
  {
    keys: ['magrpo', 'method'],
    fault: ({ magrpo, method }) =>
      magrpo === null || methodReadsKey(method, 'magrpo')
        ? null
        : `belongs to method ${listMethodsReading('magrpo').join(', ')}; omit it, or choose that method.`,
  },
  {
    keys: ['external.mode', 'evaluator'],
    fault: ({ external, evaluator }) =>
      external !== null && modeRunsTests(external.mode) && !getEvaluatorKind(evaluator).runsCode
        ? `${external.mode} executes programs, and evaluator: ${evaluator} executes none; choose evaluator: ladder or auto, or mode: plain.`
        : null,
  },
  { keys: ['evaluator', 'scorer'], fault: findEvaluatorFault },
  { keys: ['scorer', 'evaluator'], fault: findScorerFault },
  {
    keys: ['credit.estimator', 'magrpo', 'method'],
    fault: ({ credit: { estimator }, magrpo, method }) =>
      magrpo === null || estimator === 'loo' || !methodReadsKey(method, 'credit.estimator')
        ? null
        : `${estimator} does not apply to rollout trees; choose loo, or method magrpo for the mean of a node, or omit the section magrpo.`,
  },
  {
    keys: ['credit.estimator', 'credit.common_random_numbers', 'method'],
    fault: ({ credit: { estimator, common_random_numbers: common }, method }) =>
      estimator === 'loo_two_level' && common && methodReadsKey(method, 'credit.estimator')
        ? 'loo_two_level compares messages of different contexts, which must not share random numbers; ' +
          'set credit.common_random_numbers: false, or choose loo.'
        : null,
  },
  {
    keys: ['shape', 'magrpo', 'method'],
    fault: ({ shape, magrpo, method }) =>
      magrpo === null || shape === 'nested' || !methodReadsKey(method, 'shape')
        ? null
        : `${shape} does not apply to rollout trees; omit it, or the section magrpo.`,
  },
  {
    keys: [
      'shape',
      'method',
      'magrpo',
      'credit.estimator',
      'credit.group_normalise',
      'credit.lone_messages',
      'credit.common_random_numbers',
    ],
    fault: ({ shape, method, magrpo, credit }) => {
      if (shape !== 'auto' || magrpo !== null || !methodReadsKey(method, 'shape')) {
        return null;
      }
      return methodReadsKey(method, 'credit.estimator') && predictsCredit(credit)
        ? null
        : 'auto predicts the variance of method c3 with credit.estimator loo or loo_two_level, ' +
            'credit.lone_messages parent, and neither credit.common_random_numbers nor credit.group_normalise; ' +
            'change these, or choose nested.';
    },
  },
  {
    keys: ['fanout_unique', 'magrpo', 'method'],
    fault: ({ fanout_unique: unique, magrpo, method }) =>
      magrpo === null || !unique || !methodReadsKey(method, 'fanout_unique')
        ? null
        : 'draws within fanout, which a rollout tree does not have; turn it off, or omit the section magrpo.',
  },
  {
    keys: ['ppo.epochs', 'ppo.mini_batches', 'magrpo'],
    fault: ({ ppo, magrpo }) =>
      magrpo === null || (ppo.epochs === 1 && ppo.mini_batches === 1)
        ? null
        : 'must be 1, and ppo.mini_batches too: with the section magrpo each node of the tree is learned from once.',
  },
  {
    keys: ['ppo.kl_against', 'ppo.kl_estimator'],
    fault: ({ ppo }) =>
      ppo.kl_against === 'last' && ppo.kl_estimator === 'k1'
        ? 'last needs kl_estimator: k3 or exact; k1 is subtracted before the policy moves, when it is the last one still.'
        : null,
  },
  {
    keys: ['chat.thinking', 'chat.template'],
    fault: ({ chat }) =>
      chat.thinking && chat.template === 'none' ? 'needs chat.template: auto; plain text has no reasoning part.' : null,
  },
  {
    keys: ['begin', 'adapter'],
    fault: ({ begin, adapter }) => {
      if (begin === null) {
        return null;
      }
      if (begin.run === null) {
        return 'needs run: the earlier run that it begins with.';
      }
      if (begin.replace !== null && begin.replace.role === null) {
        return 'needs replace.role: the role whose policy is replaced.';
      }
      if (begin.replace !== null && begin.replace.from !== null) {
        if (begin.replace.from.run === null) {
          return 'needs replace.from.run: the run whose policy takes the place.';
        }
        if (begin.replace.with !== null) {
          return 'has replace.with and replace.from; name one policy to take the place.';
        }
      }
      if (isBundledName(begin.replace?.with ?? '')) {
        return `has a model in replace.with, where an adapter belongs; another model answers without learning: omit replace, and write policies: {${begin.replace?.role ?? ''}: {model: ${begin.replace?.with ?? ''}}}.`;
      }
      if (adapter === null) {
        return 'needs the section adapter: it begins with the adapters of that run.';
      }
      return begin.replace !== null && adapter.per !== 'role'
        ? 'replaces a policy only where each role has an adapter of its own; write adapter: {per: role}.'
        : null;
    },
  },
  {
    keys: ['device.precision', 'adapter', 'steps', 'method'],
    fault: ({ device, adapter, steps }) =>
      device.precision === 'float16' && adapter === null && steps > 0
        ? 'float16 holds weights that are not trained; give the run an adapter, or leave float32.'
        : null,
  },
  {
    keys: ['task.evaluation_file', 'task.train_file'],
    fault: ({ task }) =>
      task.train_file === null && task.evaluation_file !== null ? 'needs task.train_file beside it.' : null,
  },
  {
    keys: ['task.split', 'task.train_file', 'task.evaluation_file'],
    fault: ({ task }) => {
      if (task.split === null) {
        return null;
      }
      if (task.train_file === null) {
        return 'needs task.train_file beside it, the file that is split.';
      }
      return task.evaluation_file === null
        ? null
        : 'splits task.train_file, but task.evaluation_file is given too; omit one of the two.';
    },
  },
  ...(['train_split', 'evaluation_split'] as const).map((key): Rule => ({
    keys: [`task.${key}`, 'task.train_file', 'task.split'],
    fault: ({ task }) => {
      if (task[key] === null) {
        return null;
      }
      if (task.train_file === null) {
        return 'needs task.train_file beside it, the file that it is a slice of.';
      }
      return task.split === null ? null : 'names questions by their places, and task.split by their hashes; omit one.';
    },
  })),
  {
    keys: ['task.roles', 'task.name'],
    fault: ({ task: { name, roles } }) =>
      TEAM_SIZES[name].includes(roles)
        ? null
        : `${roles} is not a size of the bundled team of ${name}; it has ${TEAM_SIZES[name].join(', ')} roles.`,
  },
  { keys: ['task.name', 'model'], fault: ({ task: { name }, model }) => findBundledModelFault(model, name) },
  {
    keys: ['task.levels', 'task.train_file'],
    fault: ({ task }) =>
      task.train_file === null && task.levels.every((weight) => weight === 0)
        ? 'needs at least one level with a positive weight.'
        : null,
  },
];

/**
 * Checks a value against the schema and the rules. Values that the schema refuses are left out before
 * the rules check the rest.
 */
export function examineConfig(schema: Schema, value: object): Examined {
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    const config = normalizeConfig(parsed.data);
    return { config, faults: listBrokenRules(config, () => true) };
  }
  const known = listKnownKeys(schema);
  const faults = parsed.error.issues.flatMap((issue) => toFaults(issue, known, value));
  const refused = faults.map(({ path }) => path);
  const rest = schema.safeParse(removePaths(value, refused));
  const whole = (key: string): boolean =>
    !refused.some((path) => `${key}.`.startsWith(`${path.join('.')}.`) || `${path.join('.')}.`.startsWith(`${key}.`));
  return {
    config: null,
    faults: rest.success ? [...faults, ...listBrokenRules(normalizeConfig(rest.data), whole)] : faults,
  };
}

/** Sets the steps to 0 for a method that does not train, and removes empty policies and prompts. */
export function normalizeConfig({ policies, prompts, ...config }: RunConfig): RunConfig {
  const given = {
    ...(prompts !== undefined && Object.keys(prompts).length > 0 && { prompts }),
    ...(policies !== undefined && Object.keys(policies).length > 0 && { policies }),
  };
  return { ...config, ...(getMethodWords(config.method).trains ? {} : { steps: 0 }), ...given };
}

function listBrokenRules(config: RunConfig, whole: (key: string) => boolean): Fault[] {
  return RULES.flatMap(({ keys, fault }) => {
    const sentence = keys.every(whole) ? fault(config) : null;
    return sentence === null ? [] : [{ path: keys[0].split('.'), of: 'value', sentence, nearest: null }];
  });
}

/**
 * Turns a schema issue into faults.
 * @param known the keys of the schema, for suggesting the nearest one
 */
export function toFaults(issue: z.core.$ZodIssue, known: Known, value: object): Fault[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MOST_UNKNOWN).map((name) => makeUnknownKeyFault(known, path, name));
  }
  if (issue.code !== 'invalid_value') {
    return [{ path, of: 'value', sentence: `${issue.message}.`, nearest: null }];
  }
  const [given, names] = [getScalarAt(value, path), issue.values.map(String)];
  const nearest = typeof given === 'string' ? findNearestName(given, names) : undefined;
  const hint = path.join('.') === 'task.name' && nearest === undefined ? hintAtOwnQuestions(given) : '.';
  const must = nearest === undefined ? 'must' : `did you mean ${nearest}? It must`;
  return [{ path, of: 'value', sentence: `${must} be one of ${names.join(', ')}${hint}`, nearest: nearest ?? null }];
}

/** Returns the hint for a task name that was meant for the user's own questions: a file or a data set. */
function hintAtOwnQuestions(given: unknown): string {
  const text = typeof given === 'string' && given.length <= MAX_SHOWN ? given : '';
  const format = TASK_FORMATS.find(
    (name) => name !== 'auto' && text.toLowerCase().replaceAll(/[^a-z0-9]/gu, '') === name,
  );
  const file = /\.(?:jsonl|csv)$/iu.test(text) ? JSON.stringify(text) : 'FILE';
  const keys = `{train_file: ${file}${format === undefined ? '' : `, format: ${format}`}}`;
  return `, the bundled tasks; for your own questions write task: ${keys} and leave name out.`;
}

function makeUnknownKeyFault(known: Known, path: KeyPath, name: string): Fault {
  const here = Object.keys(toMapping(getKnownAt(known.values, path)));
  const named = known.paths.filter((key) => lastKeyPart(key) === name);
  // The user seldom means a key of a nested section if a shallower section has a key with the same name.
  const least = Math.min(...named.map(countKeyParts));
  const elsewhere = named.filter((key) => countKeyParts(key) === least).map(writeKeyPath);
  const fault = (sentence: string, nearest: string | null = null): Fault => ({
    path: [...path, name],
    of: 'key',
    sentence,
    nearest,
  });
  // The same name elsewhere is a better hint than a similar name here.
  if (elsewhere.length > 0) {
    return fault(`unknown key here; write it as ${elsewhere.join(' or ')}.`);
  }
  const nearest = findNearestName(name, here);
  if (nearest !== undefined) {
    return fault(`unknown key; did you mean ${nearest}?`, nearest);
  }
  const similar = findNearestName(name, known.paths.map(lastKeyPart));
  const places = known.paths.filter((key) => lastKeyPart(key) === similar).map(writeKeyPath);
  return fault(
    places.length > 0
      ? `unknown key; did you mean ${places.join(' or ')}?`
      : `unknown key; known here: ${here.join(', ')}`,
  );
}

const lastKeyPart = (key: string): string => key.slice(key.lastIndexOf('.') + 1);
const countKeyParts = (key: string): number => key.split('.').length;
const writeKeyPath = (key: string): string => key.replaceAll('.', ': ');

/** The keys that a schema knows. */
export interface Known {
  /** The names in each section, in the first item of a list, and under any name that the user chooses. */
  readonly values: unknown;
  /** Keys with their sections in front, such as `ppo.epochs`. */
  readonly paths: readonly string[];
}

function listKnownKeys(schema: z.ZodType): Known {
  const below = (value: unknown, prefix: string): string[] =>
    Object.entries(toMapping(value)).flatMap(([key, inner]) => [
      `${prefix}${key}`,
      ...below(inner, `${prefix}${key}.`),
    ]);
  const values = collectKeyNames(schema);
  return { values, paths: below(values, '').filter((path) => !path.includes(ANY)) };
}

/** In `Known`, stands for any name that the user chooses. */
const ANY = '*';

function collectKeyNames(schema: z.core.$ZodType): unknown {
  const written = unwrapSchema(schema);
  if (written instanceof z.ZodArray) {
    return [collectKeyNames(written.element)];
  }
  return written instanceof z.ZodRecord
    ? { [ANY]: collectKeyNames(written.valueType) }
    : Object.fromEntries(Object.entries(listSectionKeys(written)).map(([key, inner]) => [key, collectKeyNames(inner)]));
}

function toMapping(value: unknown): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function getValueAt(value: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>(
    (inner, part) =>
      typeof inner === 'object' && inner !== null
        ? new Map<string | number, unknown>(Object.entries(inner)).get(String(part))
        : undefined,
    value,
  );
}

/** Returns the keys that are known at a path; all items of a list are alike. */
function getKnownAt(values: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>((inner, part) => {
    const item: unknown = Array.isArray(inner) ? inner[0] : inner;
    return Array.isArray(inner) && typeof part === 'number'
      ? item
      : (getValueAt(inner, [part]) ?? getValueAt(inner, [ANY]));
  }, values);
}

/** Returns the value at a path, or the scalar on the way that stands in place of a section. */
function getScalarAt(value: unknown, path: KeyPath): unknown {
  const length = path.findIndex((_, index) => typeof getValueAt(value, path.slice(0, index + 1)) !== 'object');
  return getValueAt(value, path.slice(0, length + 1));
}

/** Returns the value without some paths. A list with a refused item is removed as a whole. */
function removePaths(value: object, paths: readonly KeyPath[]): object {
  const cut = (inner: object, own: readonly KeyPath[]): object => {
    const byKey = Map.groupBy(own, ([first]) => first);
    return Object.fromEntries(
      Object.entries(inner).flatMap(([key, item]: [string, unknown]) => {
        const inside = byKey.get(key)?.map((path) => path.slice(1));
        if (inside === undefined) {
          return [[key, item]];
        }
        const mapping =
          typeof item === 'object' && item !== null && !Array.isArray(item) && inside.every(({ length }) => length > 0);
        return mapping ? [[key, cut(item, inside)]] : [];
      }),
    );
  };
  return cut(value, paths);
}
