/** Reads a run configuration (`*.c3.yaml`) with overrides, and reports faults by name and line. */

import { C3Error } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { readDocument, formatPath, type KeyPath, type SourceDocument } from '../../team/document.ts';
import { configSchema, type RunConfig } from './config.ts';
import { examineConfig, type Fault } from './configFaults.ts';
import { MAX_SHOWN_OVERRIDE, parseOverride, applyOverrides, type Override } from './overrides.ts';
import { convertPublished, NOTHING_THERE } from './published/convertPublished.ts';
import { isPublished } from './published/publishedForm.ts';
import type { PublishedFacts } from './published/publishedRow.ts';

/** The largest number of unknown keys named in one message. */
const MOST_NAMED = 60;

/**
 * Reads a configuration with overrides.
 * @param text YAML or JSON; empty for the defaults
 * @param source the name of the text in messages
 * @param overrides `key.path=value`, with the value in YAML or as a Python literal
 * @throws C3Error('input') that names the source, the line, the key and the nearest valid key of the
 *   first fault in the text, and all other unknown keys
 */
export function readConfig(text: string, source: string, overrides: readonly string[] = []): RunConfig {
  return readConfigDocument(text, source, overrides).config;
}

export interface ConfigDocument {
  readonly config: RunConfig;
  /** Returns an input error about a key. It names the override, or else the line of the source. */
  readonly error: (path: KeyPath, fault: string) => C3Error;
  /** Remarks about a file of the published scripts, one line each. */
  readonly notes: readonly string[];
  /** The converted file of the published scripts; null if it has the keys of this product already. */
  readonly converted: object | null;
}

/**
 * Like readConfig, and also returns the means to report a value that only a look at the disk can
 * refuse. A file of the published scripts is converted first; its overrides use the keys of the file.
 * @param facts facts about the disk for the names in a file of the scripts
 */
export function readConfigDocument(
  text: string,
  source: string,
  overrides: readonly string[] = [],
  facts: PublishedFacts = NOTHING_THERE,
): ConfigDocument {
  const document = readDocument(text, source);
  const base: unknown = document.value ?? {};
  if (typeof base !== 'object' || base === null || Array.isArray(base)) {
    throw document.error([], 'must be a mapping of keys to values.');
  }
  const laid = overrides.map(parseOverride);
  const given = applyOverrides(base, laid, isPublished(base));
  const conversion = isPublished(given) ? convertPublished(given, facts) : null;
  const value = conversion?.value ?? given;
  const overridden = new Set(laid.map(({ path }) => path.join('.')));
  const origin = (path: KeyPath): KeyPath => conversion?.from.get(path.join('.')) ?? path;
  const error = (path: KeyPath, fault: string): C3Error => makeConfigError(origin(path), fault, document, overridden);
  const { config, faults } =
    conversion === null || conversion.faults.length === 0
      ? examineConfig(configSchema, value)
      : { config: null, faults: conversion.faults };
  // Reports the same first fault as the editor, which lists faults by place. Faults outside the text
  // come first.
  const placeOf = ({ path }: Fault): number =>
    isOverridden(origin(path), overridden) ? -1 : (document.offsetOf(origin(path)) ?? -1);
  const [first, ...others] = faults.toSorted((a, b) => placeOf(a) - placeOf(b));
  if (first !== undefined) {
    throw error(first.path, `${first.sentence}${nameOtherUnknownKeys(others)}`);
  }
  if (config === null) {
    throw error([], 'is not a valid configuration.');
  }
  const titled = Object.hasOwn(value, 'title') ? config : { ...config, title: `Bundled team, ${config.task.name}` };
  if (conversion === null) {
    return { config: titled, error, notes: [], converted: null };
  }
  const notes = conversion.notes.map(({ path, sentence }) => `${formatPath(path)}: ${sentence}`);
  return { config: titled, error, notes: [...notes, ...laid.flatMap(listOverrideNotes)], converted: conversion.value };
}

/** Names the unknown keys after the first fault, as many as fit in one line. */
function nameOtherUnknownKeys(faults: readonly Fault[]): string {
  const names = faults
    .filter(({ of }) => of === 'key')
    .map(({ path }) => toOneLine(path.join('.'), MAX_SHOWN_OVERRIDE));
  return names.length === 0
    ? ''
    : ` Unknown, too: ${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''}.`;
}

/**
 * Reports overrides that the scripts would have read as text: they know `False`, but read `false` as a
 * text, which counts as true.
 */
function listOverrideNotes({ path, text, value, textThere }: Override): string[] {
  const shown = toOneLine(text, MAX_SHOWN_OVERRIDE);
  const name = toOneLine(path.join('.'), MAX_SHOWN_OVERRIDE);
  return textThere
    ? [
        `--override ${name}=${shown}: read as ${JSON.stringify(value)}; the scripts would have kept the text "${shown}".`,
      ]
    : [];
}

/** Returns true if an override gives the value at a path, or a value that contains it. */
const isOverridden = (path: KeyPath, overridden: ReadonlySet<string>): boolean =>
  path.some((_, index) => overridden.has(path.slice(0, index + 1).join('.')));

function makeConfigError(
  path: KeyPath,
  fault: string,
  document: SourceDocument,
  overridden: ReadonlySet<string>,
): C3Error {
  const name = path.join('.');
  return isOverridden(path, overridden)
    ? new C3Error('input', `--override ${toOneLine(name, MAX_SHOWN_OVERRIDE)}: ${fault}`)
    : document.error(path, fault);
}
