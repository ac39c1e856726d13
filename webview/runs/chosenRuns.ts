/** Describes the selection of runs that the dashboard is to compare. */

import { COMPARED_MOST } from '../../src/shared/protocols/dashboardProtocol.ts';
import { count } from '../common/format.ts';

/**
 * Returns whether this number of runs can be compared, and the text about it. The dashboard shows one
 * run and lays up to `COMPARED_MOST` others over it.
 */
export function describeChosen(selected: number): { readonly words: string; readonly possible: boolean } {
  const most = COMPARED_MOST + 1;
  if (selected === 0) {
    return { words: 'Select runs to compare them', possible: false };
  }
  return selected > most
    ? { words: `${count(selected)} selected; the dashboard compares at most ${count(most)}`, possible: false }
    : { words: `${count(selected)} selected`, possible: true };
}
