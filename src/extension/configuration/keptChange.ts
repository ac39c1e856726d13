/**
 * Writes a change that was tried into the text of a configuration, and touches no other keys. Pure.
 * Part of the bundle of configurations, which contains the parser.
 */

import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, type Node, type YAMLMap } from 'yaml';
import {
  DECODING,
  findTeamWeights,
  listRolePolicies,
  type PolicyChange,
  type TeamChange,
  type Trial,
  type WeightsChange,
} from '../../domain/trial.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { isServed } from '../../shared/rolePolicies.ts';
import { parseYaml, readYamlValue } from '../../shared/text/yaml.ts';
import type { Protocol } from '../../team/protocol.ts';
import { configSchema, type RunConfig } from '../../training/config/config.ts';
import { normalizeConfig } from '../../training/config/configFaults.ts';
import { readConfig } from '../../training/config/readConfig.ts';
import { addEarlierKeys } from '../../training/config/storedConfig.ts';
import { toModelReference } from '../model/modelConfiguration.ts';

/** A key with its new value. */
export interface KeptKey {
  readonly path: readonly [string, ...string[]];
  readonly value: KeptValue;
}

type KeptValue = string | number | { readonly [key: string]: KeptValue };

/** Indentation of one level, in spaces. */
const STEP = 2;

/**
 * Reads the configuration of a recorded run, or returns null if it cannot be read.
 * @param stored the run's recipe as the store holds it
 */
function readRecordedConfig(stored: string): RunConfig | null {
  try {
    const recipe: unknown = JSON.parse(stored);
    return normalizeConfig(configSchema.parse(addEarlierKeys(isRecord(recipe) ? recipe['config'] : null)));
  } catch {
    return null;
  }
}

/**
 * Returns the keys in which a configuration differs from that of a run, with their sections in front.
 * Returns null if one of the two cannot be read.
 * @param stored the run's recipe as the store holds it
 */
export function listDifferingKeys(text: string, stored: string): readonly string[] | null {
  const used = readRecordedConfig(stored);
  try {
    return used === null ? null : listDifferences(readConfig(text, 'the configuration'), used, '');
  } catch (error) {
    if (error instanceof C3Error) {
      return null;
    }
    throw error;
  }
}

function listDifferences(one: unknown, other: unknown, path: string): string[] {
  if (isDeepStrictEqual(one, other)) {
    return [];
  }
  return isRecord(one) && isRecord(other)
    ? [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) =>
        listDifferences(one[key], other[key], path === '' ? key : `${path}.${key}`),
      )
    : [path];
}

/** A run whose team was changed. */
export interface ChangedRun {
  readonly run: string;
  /** The run's recipe as the store holds it. */
  readonly stored: string;
  readonly protocol: Protocol;
  /** How the servers of the change were asked. */
  readonly servers?: Trial['servers'] | undefined;
}

/**
 * Returns the keys that express a change in a configuration.
 * @param folder the configuration's folder, which its paths are relative to
 * @throws C3Error('input') if a configuration cannot express the change
 */
export function toKeptKeys(
  change: TeamChange,
  { run, stored, protocol, servers = {} }: ChangedRun,
  folder: string,
): readonly KeptKey[] {
  const { prompts, sampling } = change;
  const weights = findTeamWeights(change);
  const roles = listRolePolicies(
    change,
    protocol.roles.map(({ name }) => name),
  );
  if (sampling.temperature === 0) {
    throw new C3Error(
      'input',
      'A configuration can have no temperature of 0, since nothing can be learned from equal messages; use a small one.',
    );
  }
  const capped = sampling.maxNewTokens === undefined ? [] : protocol.roles.filter((role) => role.maxNewTokens !== null);
  if (capped.length > 0) {
    throw new C3Error(
      'input',
      `The protocol has its own max_new_tokens for ${capped.map(({ name }) => name).join(', ')}, which the configuration does not change; write it in the protocol.`,
    );
  }
  if (weights !== null && 'snapshot' in weights && (readRecordedConfig(stored)?.adapter ?? null) === null) {
    throw new C3Error(
      'input',
      'A run can begin with the snapshot of an earlier one only if it trains adapters; export the weights with c3 export --format model, and name that folder with the key model.',
    );
  }
  return [
    ...Object.entries(prompts).map(([role, prompt]): KeptKey => ({ path: ['prompts', role], value: prompt })),
    ...DECODING.flatMap(({ key, of }): KeptKey[] =>
      sampling[of] === undefined ? [] : [{ path: ['sampling', key], value: sampling[of] }],
    ),
    ...(weights === null ? [] : [toTeamKey(weights, run, folder)]),
    ...Object.entries(roles).map(([role, own]): KeptKey => ({
      path: ['policies', role],
      value: toKeptPolicy(own, run, folder, { ...servers[role], spending: readRoleLimits(stored, role) }),
    })),
  ];
}

/** Returns the spending limits that the run's configuration sets for a role. */
function readRoleLimits(stored: string, role: string): Readonly<Record<string, number>> {
  const { policies = {} } = readRecordedConfig(stored) ?? {};
  const before = Object.hasOwn(policies, role) ? policies[role] : undefined;
  return before === undefined || !isServed(before)
    ? {}
    : Object.fromEntries(Object.entries(before.spending).filter((one): one is [string, number] => one[1] !== null));
}

/** @param asked how the server was asked, and the role's spending limits, which also hold for another server */
function toKeptPolicy(
  policy: PolicyChange,
  run: string,
  folder: string,
  {
    api = 'chat',
    prices = null,
    spending,
  }: Partial<NonNullable<Trial['servers']>[string]> & { readonly spending: Readonly<Record<string, number>> },
): Readonly<Record<string, KeptValue>> {
  if ('endpoint' in policy) {
    const { endpoint, model_name } = policy;
    return {
      endpoint,
      model_name,
      ...(api !== 'chat' && { api }),
      ...(prices !== null && { prices: { ...prices } }),
      ...(Object.keys(spending).length > 0 && { spending }),
    };
  }
  if ('adapter' in policy) {
    return { adapter: toModelReference(policy.adapter, folder) };
  }
  return 'model' in policy ? { model: toModelReference(policy.model, folder) } : { snapshot: policy.snapshot, run };
}

const toTeamKey = (policy: WeightsChange, run: string, folder: string): KeptKey =>
  'model' in policy
    ? { path: ['model'], value: toModelReference(policy.model, folder) }
    : { path: ['begin'], value: { run, snapshot: policy.snapshot } };

/**
 * Sets keys in the text of a configuration. Order, comments and all other characters stay the same.
 * @throws C3Error('input') if the text is not valid YAML, or a key cannot be set by itself
 */
export const setConfigKeys = (text: string, keys: readonly KeptKey[]): string => keys.reduce(setConfigKey, text);

function setConfigKey(text: string, { path, value }: KeptKey): string {
  const before = parsePlainValue(text);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const { start, end, words } = findKeyEdit(text, path, value);
  const after = `${text.slice(0, start)}${words.replaceAll('\n', eol)}${text.slice(end)}`;
  // Detects any other value that changed, as with anchors, merge keys and unusual layouts.
  if (!isDeepStrictEqual(parsePlainValue(after, null), setNestedValue(before, path, value))) {
    throw unwritableKeyError(path);
  }
  return after;
}

const unwritableKeyError = ([...path]: readonly string[]): C3Error =>
  new C3Error(
    'input',
    `${path.join('.')} cannot be written there without changing something else; write it by hand, or keep the change in a new configuration.`,
  );

/** @param broken the value for a text that cannot be parsed; if omitted, such a text throws */
function parsePlainValue(text: string, broken?: null): unknown {
  try {
    return readYamlValue(parseYaml(text));
  } catch (error) {
    if (broken === null) {
      return null;
    }
    throw new C3Error('input', 'The configuration has problems, so nothing was written; resolve them first.', {
      cause: error,
    });
  }
}

function setNestedValue(before: unknown, [key, ...rest]: readonly string[], value: KeptValue): unknown {
  if (key === undefined) {
    return value;
  }
  const here = isRecord(before) ? before : {};
  return { ...here, [key]: setNestedValue(here[key], rest, value) };
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly words: string;
}

function findKeyEdit(text: string, path: KeptKey['path'], value: KeptValue): Edit {
  let holder: unknown = parseYaml(text).contents;
  if (!isMap(holder)) {
    return appendLines(text, formatKeyLines(path, value, 0));
  }
  for (const [depth, name] of path.entries()) {
    if (!isMap(holder)) {
      throw unwritableKeyError(path);
    }
    const rest = path.slice(depth);
    const pair = holder.items.find(({ key }) => isScalar(key) && key.value === name);
    if (pair === undefined) {
      return depth === 0 && holder.flow !== true
        ? appendLines(text, formatKeyLines(rest, value, findColumn(text, findFirstKey(holder))))
        : addKey(text, holder, rest, value);
    }
    const inner: unknown = pair.value;
    const last = depth === path.length - 1;
    if (last || !isMap(inner)) {
      if (!last && isScalar(inner) && inner.value !== null) {
        throw unwritableKeyError(path);
      }
      return replaceKeyValue(text, pair.key as Node, inner as Node | null, {
        value: nestValue(rest.slice(1), value),
        flow: holder.flow === true,
      });
    }
    holder = inner;
  }
  throw unwritableKeyError(path);
}

const nestValue = (path: readonly string[], value: KeptValue): KeptValue =>
  path.toReversed().reduce<KeptValue>((inner, key) => ({ [key]: inner }), value);

function appendLines(text: string, lines: readonly string[]): Edit {
  const gap = text === '' || /\n$/u.test(text) ? '' : '\n';
  return { start: text.length, end: text.length, words: `${gap}${lines.join('\n')}\n` };
}

/** Returns an edit that adds a key after the last one of a mapping. */
function addKey(text: string, holder: YAMLMap, path: readonly string[], value: KeptValue): Edit {
  const last = holder.items.at(-1);
  const [key = '', ...rest] = path;
  if (holder.flow === true) {
    const words = `${formatScalar(key)}: ${formatFlowValue(nestValue(rest, value))}`;
    const [from = 0, to = 0] = holder.range ?? [];
    if (last === undefined) {
      return { start: from, end: to, words: `{${words}}` };
    }
    const at = findNodeEnd(last.value) ?? findNodeEnd(last.key) ?? to;
    return { start: at, end: at, words: `, ${words}` };
  }
  const content = text.slice(0, findNodeEnd(last?.value) ?? findNodeEnd(last?.key) ?? text.length).trimEnd().length;
  const rests = text.slice(content).search(/\r?\n/u);
  const at = rests < 0 ? text.length : content + rests;
  const lines = formatKeyLines(path, value, findColumn(text, findFirstKey(holder)));
  return { start: at, end: at, words: `\n${lines.join('\n')}` };
}

function replaceKeyValue(
  text: string,
  key: Node,
  old: Node | null,
  { value, flow }: { readonly value: KeptValue; readonly flow: boolean },
): Edit {
  const [from = 0, to = 0] = old?.range ?? [];
  const words = flow ? formatFlowValue(value) : formatBlockValue(value, findColumn(text, key));
  if (to > from) {
    return { start: from, end: to, words: text.slice(from, to).endsWith('\n') ? `${words}\n` : words };
  }
  const at = text.indexOf(':', findNodeEnd(key) ?? 0) + 1;
  return { start: at, end: at, words: ` ${words}` };
}

const findNodeEnd = (node: unknown): number | null => (node as Node | null | undefined)?.range?.[1] ?? null;
const findFirstKey = ({ items: [first] }: YAMLMap): Node | null => (first?.key ?? null) as Node | null;

function findColumn(text: string, node: Node | null): number {
  const start = node?.range?.[0] ?? 0;
  return start - (text.lastIndexOf('\n', start - 1) + 1);
}

/** Formats a key path with its value, one key a line. */
function formatKeyLines([key = '', ...rest]: readonly string[], value: KeptValue, column: number): string[] {
  const head = `${' '.repeat(column)}${formatScalar(key)}:`;
  return rest.length === 0
    ? [`${head} ${formatBlockValue(value, column)}`]
    : [head, ...formatKeyLines(rest, value, column + STEP)];
}

/** Formats a value that follows its key. @param column the column at which the key begins */
function formatBlockValue(value: KeptValue, column: number): string {
  if (typeof value !== 'string' || !value.includes('\n') || !canBeLiteral(value)) {
    return formatFlowValue(value);
  }
  const ends = /\n*$/u.exec(value)?.[0].length ?? 0;
  const chomping = ends === 0 ? '-' : ends === 1 ? '' : '+';
  const lines = (ends === 0 ? value : value.slice(0, -1)).split('\n');
  const indent = ' '.repeat(column + STEP);
  // Without the number, YAML would take the indentation of all lines from the first one.
  const number = /^\s/u.test(value) ? String(STEP) : '';
  return [`|${number}${chomping}`, ...lines.map((line) => (line === '' ? '' : `${indent}${line}`))].join('\n');
}

/** Returns true if a text can be a literal block without changes. */
const canBeLiteral = (text: string): boolean =>
  text.trim() !== '' && !/[^\t\n\P{Cc}]|[\u2028\u2029\uFEFF\p{Cs}]/u.test(text);

function formatFlowValue(value: KeptValue): string {
  return isRecord(value)
    ? `{${Object.entries(value)
        .map(([key, inner]: [string, KeptValue]) => `${formatScalar(key)}: ${formatFlowValue(inner)}`)
        .join(', ')}}`
    : formatScalar(value);
}

/** Formats a scalar: plain if every version of YAML reads it as that text, otherwise as JSON in quotes. */
const formatScalar = (value: string | number): string =>
  typeof value === 'string' &&
  /^[A-Za-z_][\w./-]*$/u.test(value) &&
  !/^(?:null|true|false|yes|no|on|off|y|n)$/iu.test(value)
    ? value
    : JSON.stringify(value).replaceAll(
        /[\u007F-\u009F\u2028\u2029\uFEFF]/gu,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
