/**
 * Runs and their hyperparameters: rows, the columns in which they differ, and the messages of the
 * panel that shows them. Pure.
 */

import type { Interval } from '../../domain/credit.ts';
import type { ShownStatus } from '../../domain/run.ts';
import { isRecord, list, literal, object, text } from '../guard.ts';
import { isColumnChoice, type ColumnChoice } from './columnChoice.ts';
import type { Events, Panel, ToHost } from './panel.ts';

/** One run with its settings and results. */
export interface RunTableRow {
  readonly id: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly note: string;
  readonly method: string;
  readonly seed: number;
  readonly status: ShownStatus;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly steps: number;
  readonly plannedSteps: number;
  /** Hyperparameters by dotted key, each as JSON. */
  readonly settings: Readonly<Record<string, string>>;
  readonly accuracyBefore: Interval | null;
  readonly accuracyAfter: Interval | null;
  readonly passAt1Before: Interval | null;
  readonly passAt1After: Interval | null;
  /** Cost of the whole run so far; null before its first step has ended. */
  readonly evaluatorCalls: number | null;
  readonly tokens: number | null;
  readonly seconds: number | null;
}

/** Keys with a column of their own. */
const OWN_COLUMNS: ReadonlySet<string> = new Set(['title', 'method', 'seed']);
/** Longest value of a setting in a cell, in UTF-16 units. */
const VALUE_LIMIT = 400;
const KEYS_MOST = 400;

/** Reads the settings in a stored configuration, by dotted key; lists are one value. */
export function readSettings(stored: string): Readonly<Record<string, string>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(stored);
  } catch {
    return {};
  }
  const config = isRecord(parsed) && isRecord(parsed['config']) ? parsed['config'] : {};
  const found: [string, string][] = [];
  const visit = (value: unknown, path: readonly string[]): void => {
    if (found.length >= KEYS_MOST || path.length > 6) {
      return;
    }
    if (isRecord(value) && Object.keys(value).length > 0) {
      for (const [key, below] of Object.entries(value)) {
        visit(below, [...path, key]);
      }
    } else if (path.length > 0 && !OWN_COLUMNS.has(path.join('.'))) {
      found.push([path.join('.'), JSON.stringify(value).slice(0, VALUE_LIMIT)]);
    }
  };
  visit(config, []);
  return Object.fromEntries(found);
}

/**
 * Returns every key that some run sets, in alphabetical order, and the keys in which runs differ. A
 * key that only some runs have differs.
 */
export function listSettingKeys(rows: readonly Pick<RunTableRow, 'settings'>[]): {
  readonly all: readonly string[];
  readonly differing: readonly string[];
} {
  const all = [...new Set(rows.flatMap(({ settings }) => Object.keys(settings)))].sort();
  return {
    all,
    differing: all.filter(
      (key) => new Set(rows.map(({ settings }) => (Object.hasOwn(settings, key) ? settings[key] : undefined))).size > 1,
    ),
  };
}

export const RUN_COLUMNS = [
  'title',
  'tags',
  'status',
  'method',
  'seed',
  'steps',
  'accuracyBefore',
  'accuracyAfter',
  'passAt1Before',
  'passAt1After',
  'evaluatorCalls',
  'tokens',
  'seconds',
  'createdAt',
] as const;
export type RunColumn = (typeof RUN_COLUMNS)[number];

/** Prefix of a setting's key in the name of a column. */
export const SETTING_PREFIX = 'setting:';

/** Returns the value that a row is sorted by; null comes last in both directions. */
export function readSortValue(row: RunTableRow, column: string): number | string | null {
  if (column.startsWith(SETTING_PREFIX)) {
    const key = column.slice(SETTING_PREFIX.length);
    const stored = Object.hasOwn(row.settings, key) ? row.settings[key] : undefined;
    if (stored === undefined) {
      return null;
    }
    const number = Number(stored);
    return stored === '' || stored === 'null' ? null : Number.isFinite(number) ? number : stored;
  }
  const name = RUN_COLUMNS.find((candidate) => candidate === column);
  if (name === undefined) {
    return null;
  }
  if (name === 'tags') {
    return row.tags.length === 0 ? null : row.tags.join(', ');
  }
  const value = row[name];
  return typeof value === 'object' ? (value?.value ?? null) : value;
}

/** Returns the rows in order; equal rows keep their order. */
export function sortRunRows(rows: readonly RunTableRow[], column: string, descending: boolean): readonly RunTableRow[] {
  return rows.toSorted((a, b) => {
    const [x, y] = [readSortValue(a, column), readSortValue(b, column)];
    if (x === null || y === null) {
      return Number(x === null) - Number(y === null);
    }
    // A setting may be a number in one run and a word in another: numbers come first.
    const order =
      typeof x === 'number' && typeof y === 'number'
        ? x - y
        : typeof x === typeof y
          ? String(x).localeCompare(String(y), 'en')
          : typeof x === 'number'
            ? -1
            : 1;
    return descending ? -order : order;
  });
}

/** Most runs in the list, newest first. */
export const RUNS_LISTED = 500;

const run = text(200);

/** The state that the panel keeps across a reload. */
export const isRunsTableState = object({
  version: literal(1),
  column: text(300),
  descending: literal(true, false),
  search: text(200),
  chosen: list(run, RUNS_LISTED),
});

export type RunsTableFromHost =
  | {
      readonly type: 'runs';
      readonly rows: readonly RunTableRow[];
      readonly omitted: number;
      readonly selected: string | null;
      readonly columns: ColumnChoice;
    }
  | { readonly type: 'failed'; readonly message: string };

/** The events that the page sends. */
const RUNS_EVENTS = {
  ready: {},
  compare: { runs: list(run, RUNS_LISTED) },
  episodes: { run },
  startRun: {},
  columns: { columns: isColumnChoice },
  saveCsv: { runs: list(run, RUNS_LISTED) },
} as const satisfies Events;

export const RUNS_PANEL = {
  view: 'c3.runsTable',
  title: 'Runs table',
  bundle: 'runs',
  icon: 'tab',
  events: RUNS_EVENTS,
  requests: {},
} as const satisfies Panel;

export type RunsTableToHost = ToHost<typeof RUNS_PANEL>;
