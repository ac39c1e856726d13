/** Overrides (`--override a.b=c`): YAML values or Python literals that replace configured values. */

import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { parseYaml, readYamlValue } from '../../shared/text/yaml.ts';
import { readPythonLiteral } from './pythonLiteral.ts';

/** The largest number of characters of an override that a message repeats. */
export const MAX_SHOWN_OVERRIDE = 100;

export interface Override {
  /** The key, with its sections before it. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** The value as written. */
  readonly text: string;
  /** True if the published scripts, which know only Python literals, would have kept the text. */
  readonly textThere: boolean;
  /** The whole override, for messages. */
  readonly item: string;
}

/**
 * Reads one override; the key is the part before the first `=`. The value is YAML. A value that YAML
 * refuses, or reads as plain text, a list or a mapping, is read as a Python literal if it is one.
 * @throws C3Error('input') without a `=`, or if the value is neither
 */
export function parseOverride(item: string): Override {
  const shown = toOneLine(item, MAX_SHOWN_OVERRIDE);
  const split = item.indexOf('=');
  if (split < 1) {
    throw new C3Error('input', `--override ${shown}: write key.path=value.`);
  }
  const text = item.slice(split + 1);
  const python = readPythonLiteral(text);
  const value = readOverrideValue(text, python, shown);
  const textThere = python === null && typeof value !== 'string' && text.trim() !== '';
  return { path: item.slice(0, split).split('.'), value, text, textThere, item };
}

function readOverrideValue(text: string, python: { readonly value: unknown } | null, shown: string): unknown {
  let value: unknown;
  try {
    value = readYamlValue(parseYaml(text));
  } catch (error) {
    if (python !== null) {
      return python.value;
    }
    throw new C3Error(
      'input',
      `--override ${shown}: the value is not YAML: ${toOneLine(toErrorMessage(error), MAX_SHOWN_OVERRIDE)}`,
      { cause: error },
    );
  }
  // YAML keeps quoted text as it is; True, 1_000 and (1, 2) are plain text to it.
  const open = (typeof value === 'string' && value === text.trim()) || (typeof value === 'object' && value !== null);
  return open && python !== null ? python.value : value;
}

/**
 * Applies overrides to a configuration; later ones win.
 * @param merged true merges a mapping into the existing one key by key, as the published scripts do;
 *   false replaces it
 * @throws C3Error('input') if a key leads through a value that is not a mapping
 */
export const applyOverrides = (base: object, overrides: readonly Override[], merged: boolean): object =>
  overrides.reduce<object>((value, override) => setPath(value, override.path, override, merged), structuredClone(base));

function setPath(value: object, [key = '', ...rest]: readonly string[], override: Override, merged: boolean): object {
  const entries = new Map<string, unknown>(Object.entries(value));
  const there = entries.get(key);
  if (rest.length === 0) {
    entries.set(key, merged ? mergeOver(there, override.value) : override.value);
  } else {
    const inner = there ?? {};
    if (typeof inner !== 'object' || Array.isArray(inner)) {
      throw new C3Error(
        'input',
        `--override ${toOneLine(override.item, MAX_SHOWN_OVERRIDE)}: ${toOneLine(key, MAX_SHOWN_OVERRIDE)} is not a mapping.`,
      );
    }
    entries.set(key, setPath(inner, rest, override, merged));
  }
  return Object.fromEntries(entries);
}

/** Merges a value over another one: mappings key by key; any other value replaces the existing one. */
export function mergeOver(there: unknown, laid: unknown): unknown {
  if (!isRecord(there) || !isRecord(laid)) {
    return laid;
  }
  const entries = new Map(Object.entries(there));
  for (const [key, value] of Object.entries(laid)) {
    entries.set(key, mergeOver(entries.get(key), value));
  }
  return Object.fromEntries(entries);
}
