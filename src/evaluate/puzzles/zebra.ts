/** Grids of houses (ZebraLogic): reads the public form of answers, and compares cell by cell. */

import { isRecord } from '../../shared/guard.ts';
import { findLastBraced } from '../../shared/text/braces.ts';

/** The attributes of each house, such as `House 1` -> `Drink` -> `tea`. */
export type ZebraGrid = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** all: every cell must be right, or the score is 0. cells: the share of right cells. */
export type ZebraRule = 'all' | 'cells';

export interface ZebraVerdict {
  /** From 0 to 1. */
  readonly score: number;
  /** `zebra: 5 of 6 cells`, or the reason why nothing can be compared. */
  readonly rule: string;
}

const MOST_HOUSES = 26;
const MOST_ATTRIBUTES = 26;
const MOST_LENGTH = 100_000;
/** The text that the public files put in place of a hidden solution. */
const HIDDEN = /^_+$/u;

/**
 * Reads `{"House 1": {"Name": "Arnold", "Drink": "tea"}, "House 2": {"Name": "Eric", "Drink":
 * "milk"}}`.
 * @returns null if the text has another form, houses differ in their attributes, or a cell is blank or
 *   hidden
 */
export function parseZebra(text: string): ZebraGrid | null {
  const value = text.length > MOST_LENGTH ? undefined : tryParseJson(text);
  const houses = isRecord(value) ? Object.entries(value) : [];
  const attributes = isRecord(houses[0]?.[1]) ? Object.keys(houses[0][1]) : [];
  const grid = new Map<string, ReadonlyMap<string, string>>();
  for (const [index, [house, cells]] of houses.entries()) {
    const own = isRecord(cells) ? Object.entries(cells) : [];
    const row = new Map(own.flatMap(([name, cell]) => (isCell(cell) ? [[name, cell] as const] : [])));
    if (house !== `House ${index + 1}` || row.size !== own.length || attributes.join() !== [...row.keys()].join()) {
      return null;
    }
    grid.set(house, row);
  }
  const fits =
    grid.size >= 1 && grid.size <= MOST_HOUSES && attributes.length >= 1 && attributes.length <= MOST_ATTRIBUTES;
  return fits ? grid : null;
}

/** Writes the text that parseZebra reads. */
export const writeZebra = (grid: ZebraGrid): string =>
  JSON.stringify(Object.fromEntries([...grid].map(([house, row]) => [house, Object.fromEntries(row)])));

/** Writes the part of a question that asks for its answer, with every cell left open. */
export function writeZebraForm(grid: ZebraGrid): string {
  const open = [...grid].map(([house, row]): [string, unknown] => [
    house,
    Object.fromEntries([...row.keys()].map((name) => [name, '___'])),
  ]);
  return `Answer with JSON of this form, with a value for every ___:\n${JSON.stringify({ reasoning: '___', solution: Object.fromEntries(open) })}`;
}

/**
 * Scores a message by its last complete JSON object. The `solution` of the object is compared,
 * ignoring case and blanks around a cell (WildEval/ZeroEval, zebra_grid_eval.py). For a list, the
 * first item counts.
 */
export function gradeZebra(key: ZebraGrid, message: string, by: ZebraRule): ZebraVerdict {
  const found = findLastBraced(message);
  const wrong = (why: string): ZebraVerdict => ({ score: 0, rule: `zebra: ${why}` });
  if (found === null) {
    return wrong('no complete JSON object');
  }
  const answer = getOwn(tryParseJson(found.replaceAll('\n', '')), 'solution');
  if (!isRecord(answer)) {
    return wrong('its last object is no JSON with a solution');
  }
  let [right, all] = [0, 0];
  for (const [house, row] of key) {
    for (const [name, cell] of row) {
      const given = getOwn(getOwn(answer, house), name);
      const said = firstItemOrSelf(given);
      all += 1;
      right += typeof said === 'string' && normalizeCell(said) === normalizeCell(cell) ? 1 : 0;
    }
  }
  const score = by === 'cells' ? right / all : Number(right === all);
  return { score, rule: `zebra: ${right} of ${all} cells` };
}

const normalizeCell = (text: string): string => text.toLowerCase().trim();

const isCell = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && !HIDDEN.test(value.trim());

const getOwn = (value: unknown, key: string): unknown =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;

/** Returns the first item of a list, or the value itself. */
const firstItemOrSelf = (value: unknown): unknown => {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list[0];
};

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // What models write between braces is often no JSON.
  }
}
