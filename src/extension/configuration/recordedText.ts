/** Writes the configuration of a recorded run as a text that starts the same run again. */

import { isRecord } from '../../shared/guard.ts';
import { CONFIGURATION, type ConfigKey } from './keys.ts';

/**
 * Returns the keys that differ from their defaults, with values as JSON, which is valid YAML.
 * @param stored the run's recipe as the store holds it
 * @returns null if the recipe holds no configuration, as that of an imported run
 */
export function recordedText(stored: string): string | null {
  let recipe: unknown;
  try {
    recipe = JSON.parse(stored);
  } catch {
    return null;
  }
  if (!isRecord(recipe) || !isRecord(recipe['config'])) {
    return null;
  }
  const { config, folder } = recipe;
  const lines = CONFIGURATION.keys.flatMap((key) => formatChangedKeys(key, config, ''));
  const place = typeof folder === 'string' ? [`# Paths are relative to ${JSON.stringify(folder)}, where it was.`] : [];
  return ['# As a run was recorded. Omitted keys have their defaults.', ...place, ...lines, ''].join('\n');
}

function formatChangedKeys(
  key: ConfigKey,
  section: Readonly<Record<string, unknown>>,
  indent: string,
): readonly string[] {
  const { name, kind, keys, nullable } = key;
  const value = Object.hasOwn(section, name) ? section[name] : undefined;
  if (value === undefined) {
    return [];
  }
  if (kind === 'section' && keys.length > 0 && !nullable && isRecord(value)) {
    const within = keys.flatMap((inner) => formatChangedKeys(inner, value, `${indent}  `));
    return within.length === 0 ? [] : [`${indent}${name}:`, ...within];
  }
  return JSON.stringify(value) === JSON.stringify(key.default) ? [] : [`${indent}${name}: ${JSON.stringify(value)}`];
}
