/** Computes the help for a configuration: completions, hovers, and the paths that the file names. */

import { isMap } from 'yaml';
import type { NamedPath } from '../../shared/text/namedPaths.ts';
import { parseYaml } from '../../shared/text/yaml.ts';
import { findNodeRange, type Range } from '../../training/config/checkConfig.ts';
import { visitScalars, findPlace, type KeyPlace, type ValuePlace } from './cursor.ts';
import {
  formatChoiceMarkdown,
  formatKeyDefault,
  formatKeyMarkdown,
  summarizeKey,
  formatConfigValue,
} from './keyWords.ts';
import { findConfigKey, selectKeys, type ConfigKey } from './keys.ts';

export interface Suggestion {
  readonly label: string;
  /** The inserted text, in the editor's snippet syntax. */
  readonly snippet: string;
  /** The text beside the label. */
  readonly detail: string;
  readonly markdown: string;
  readonly kind: 'section' | 'key' | 'value';
  /** True if the editor should offer the next suggestions at once. */
  readonly goesOn: boolean;
}

export interface Suggestions {
  /** Offsets of the word that is replaced. */
  readonly start: number;
  readonly end: number;
  /** The suggestions, in the order in which they are shown. */
  readonly items: readonly Suggestion[];
  /** The path that is being written, for which entries of the disk can be offered too; null if none. */
  readonly path: { readonly names: NamedPath; readonly typed: string; readonly space: boolean } | null;
}

export interface Hover extends Range {
  readonly markdown: string;
}

export interface WrittenPath extends Range {
  readonly names: NamedPath;
  readonly path: string;
}

/** Returns what can be written at an offset, or null if nothing is known there. */
export function findSuggestions(text: string, offset: number): Suggestions | null {
  const keys = selectKeys(text);
  const place = findPlace(text, offset, keys);
  if (place === null) {
    return null;
  }
  const key = findConfigKey(place.path, keys);
  if (key === undefined) {
    return null;
  }
  const { start, end } = place;
  if (place.kind === 'key') {
    return { start, end, items: suggestKeys(key, place), path: null };
  }
  const path = key.names === null ? null : { names: key.names, typed: text.slice(start, offset), space: place.space };
  return { start, end, items: suggestValues(key, place), path };
}

/** Returns the meaning of the key or the named value at an offset. */
export function findHover(text: string, offset: number): Hover | null {
  const at: { found: Hover | null } = { found: null };
  const keys = selectKeys(text);
  visitScalars(parseYaml(text), (scalar, path, role) => {
    const range = findNodeRange(scalar);
    if (range === null || offset < range.start || offset > range.end) {
      return false;
    }
    const written = String(scalar.value);
    const key = findConfigKey(role === 'key' ? [...path(), written] : path(), keys);
    const named = key === undefined ? undefined : findNamedKey(key);
    if (key !== undefined) {
      at.found = {
        ...range,
        markdown:
          role === 'value' && named?.choices.has(written) === true
            ? formatChoiceMarkdown(named, written)
            : formatKeyMarkdown(key),
      };
    }
    return true;
  });
  return at.found;
}

/** Returns the files and folders that a configuration names, in the order of the text. */
export function listWrittenPaths(text: string): readonly WrittenPath[] {
  const document = parseYaml(text);
  if (document.errors.length > 0 || !isMap(document.contents)) {
    return [];
  }
  const found: WrittenPath[] = [];
  const keys = selectKeys(text);
  visitScalars(document, (node, path, role) => {
    const isText = role === 'value' && typeof node.value === 'string' && node.value !== '';
    const key = isText ? findConfigKey(path(), keys) : undefined;
    const [names, written, range] = [key?.names ?? null, String(node.value), findNodeRange(node)];
    if (names !== null && range !== null && key?.choices.has(written) === false) {
      found.push({ ...range, names, path: written });
    }
    return false;
  });
  return found;
}

function suggestKeys(section: ConfigKey, { present, flow, colon }: KeyPlace): Suggestion[] {
  return section.keys
    .filter(({ name }) => !present.includes(name))
    .map((key) => ({
      label: key.name,
      snippet: colon ? key.name : `${key.name}: ${formatKeyStart(key, flow)}`.replace(': \n', ':\n'),
      detail: summarizeKey(key),
      markdown: formatKeyMarkdown(key),
      kind: key.kind === 'section' ? 'section' : 'key',
      goesOn:
        !colon &&
        (key.kind === 'section' || key.kind === 'boolean' || findNamedKey(key).choices.size > 0 || key.names !== null),
    }));
}

/** Returns the snippet that follows a chosen key, with the cursor at the place of the value. */
function formatKeyStart(key: ConfigKey, flow: boolean): string {
  // The next list of suggestions offers the values instead.
  if (key.shortFor !== null || key.kind === 'boolean' || key.kind === 'choice' || key.names !== null) {
    return '';
  }
  if (key.kind === 'section') {
    return flow ? '{$0}' : '\n\t$0';
  }
  const value = key.default === null || key.kind === 'text' ? '' : formatConfigValue(key.default);
  return key.kind === 'list' ? `[\${1:${escapeSnippet(value.slice(1, -1))}}]` : `\${1:${escapeSnippet(value)}}`;
}

function suggestValues(key: ConfigKey, { space }: ValuePlace): Suggestion[] {
  const named = findNamedKey(key);
  const usual = formatKeyDefault(named);
  const item = (label: string, markdown: string): Suggestion => ({
    label,
    snippet: `${space ? ' ' : ''}${escapeSnippet(label)}`,
    detail: label === usual ? 'default' : '',
    markdown,
    kind: 'value',
    goesOn: false,
  });
  const choices = [...named.choices.keys()].map((name) => item(name, formatChoiceMarkdown(named, name)));
  // No numbers: Enter after a typed 3 would accept a suggested 36.
  const plain = [...(named.kind === 'boolean' ? ['true', 'false'] : []), ...(key.nullable ? ['null'] : [])];
  return [...choices, ...plain.map((label) => item(label, formatKeyMarkdown(key)))];
}

/** Returns the key that a bare value stands for: the key of a section's short form, or the key itself. */
function findNamedKey(key: ConfigKey): ConfigKey {
  return key.keys.find(({ name }) => name === key.shortFor) ?? key;
}

function escapeSnippet(text: string): string {
  return text.replaceAll(/[\\$}]/gu, '\\$&');
}
