/** Reads `--only KEY=VALUE`, which selects episodes of a run and may be given several times. */

import { SELECTION_KEYS, type Condition, type Selection, type SelectionKey } from '../../domain/selection.ts';
import { C3Error, findNearestName } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';

/** Maximum conditions of one selection. */
const MOST_CONDITIONS = 1000;
/** Maximum characters of a name that an error repeats. */
const SHOWN = 40;

/**
 * Reads conditions, each a key, `=` and a value.
 * @throws C3Error('input') for an unknown key, a missing value, or too many conditions
 */
export function readSelection(given: readonly string[]): Selection {
  if (given.length > MOST_CONDITIONS) {
    throw new C3Error('input', `--only may be given at most ${MOST_CONDITIONS} times; use fewer conditions.`);
  }
  return given.map((one): Condition => {
    const at = one.indexOf('=');
    const name = at === -1 ? one : one.slice(0, at);
    const key = SELECTION_KEYS.find((known) => known === name);
    if (key === undefined) {
      const nearest = findNearestName(name.slice(0, SHOWN), SELECTION_KEYS);
      throw new C3Error(
        'input',
        `--only selects no episodes by ${quoteShortened(name)}; give ${SELECTION_KEYS.map((known) => `${known}=`).join(', ')}${nearest === undefined ? '' : `: did you mean ${nearest}=?`}`,
      );
    }
    const value = one.slice(at + 1).trim();
    if (at === -1 || value === '') {
      throw new C3Error('input', `--only ${key} needs a value, such as ${key}=${EXAMPLES[key]}.`);
    }
    return { key, value };
  });
}

const EXAMPLES: Readonly<Record<SelectionKey, string>> = {
  class: '"Misleading Plan"',
  episode: '17',
  label: 'slip',
  level: '3',
  source: 'gsm8k',
  uid: 'arithmetic-12',
};

const quoteShortened = (text: string): string => JSON.stringify(toOneLine(text, SHOWN));
