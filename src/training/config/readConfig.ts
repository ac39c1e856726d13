/**
 * Reads a run configuration (`*.c3.yaml`) with overrides: unknown keys and impossible combinations are refused by name
 * and line.
 */
import { C3Error, messageOf } from '../../shared/errors.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { parseYaml, yamlValue } from '../../shared/text/yaml.ts';
import { readDocument, type KeyPath, type SourceDocument } from '../../team/document.ts';
import { configSchema, type RunConfig } from './config.ts';
import { examine, type Problem } from './configProblems.ts';

/** Characters of an override that a message repeats. */
const MAX_SHOWN = 100;

/**
 * Reads a configuration with overrides.
 * @param text YAML or JSON; empty for the defaults
 * @param source how messages name the text
 * @param overrides `key.path=value`, the value in YAML
 * @throws C3Error('input') naming source, line, key and the nearest valid key of the first problem in the text
 */
export function readConfig(text: string, source: string, overrides: readonly string[] = []): RunConfig {
  return readConfigDocument(text, source, overrides).config;
}

export interface ConfigDocument {
  readonly config: RunConfig;
  /** An input error about the value of a key: of an override, or at its line of the source. */
  readonly error: (path: KeyPath, problem: string) => C3Error;
}

/** As readConfig, with what is needed to report a value that only the disk shows to be wrong. */
export function readConfigDocument(text: string, source: string, overrides: readonly string[] = []): ConfigDocument {
  const document = readDocument(text, source);
  const base: unknown = document.value ?? {};
  if (typeof base !== 'object' || base === null || Array.isArray(base)) {
    throw document.error([], 'must be a mapping of keys to values.');
  }
  const value = overrides.reduce<object>(applyOverride, structuredClone(base));
  const overridden = new Set(overrides.map((override) => override.split('=', 1)[0] ?? ''));
  const error = (path: KeyPath, problem: string): C3Error => errorAt(path, problem, document, overridden);
  const { config, problems } = examine(configSchema, value);
  // The editor lists them by their places, and its first is the one to go to; what is not in the text comes before.
  const placeOf = ({ path }: Problem): number =>
    overridden.has(path.join('.')) ? -1 : (document.offsetOf(path) ?? -1);
  const [first] = problems.toSorted((a, b) => placeOf(a) - placeOf(b));
  if (first !== undefined) {
    throw error(first.path, first.sentence);
  }
  if (config === null) {
    throw error([], 'is not a valid configuration.');
  }
  const titled = Object.hasOwn(value, 'title') ? config : { ...config, title: `Bundled team, ${config.task.name}` };
  return { config: titled, error };
}

function applyOverride(value: object, override: string): object {
  const split = override.indexOf('=');
  if (split < 1) {
    throw new C3Error('input', `--override ${oneLine(override, MAX_SHOWN)}: write key.path=value.`);
  }
  const path = override.slice(0, split).split('.');
  let parsed: unknown;
  try {
    parsed = yamlValue(parseYaml(override.slice(split + 1)));
  } catch (error) {
    throw new C3Error(
      'input',
      `--override ${oneLine(override, MAX_SHOWN)}: the value is not YAML: ${oneLine(messageOf(error), MAX_SHOWN)}`,
    );
  }
  return setIn(value, path, parsed, override);
}

function setIn(value: object, [key = '', ...rest]: readonly string[], leaf: unknown, override: string): object {
  const entries = new Map<string, unknown>(Object.entries(value));
  if (rest.length === 0) {
    entries.set(key, leaf);
  } else {
    const inner = entries.get(key) ?? {};
    if (typeof inner !== 'object' || Array.isArray(inner)) {
      throw new C3Error(
        'input',
        `--override ${oneLine(override, MAX_SHOWN)}: ${oneLine(key, MAX_SHOWN)} is not a mapping.`,
      );
    }
    entries.set(key, setIn(inner, rest, leaf, override));
  }
  return Object.fromEntries(entries);
}

function errorAt(path: KeyPath, problem: string, document: SourceDocument, overridden: ReadonlySet<string>): C3Error {
  const name = path.join('.');
  return overridden.has(name)
    ? new C3Error('input', `--override ${oneLine(name, MAX_SHOWN)}: ${problem}`)
    : document.error(path, problem);
}
