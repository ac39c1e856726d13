/** The runs that are selected in the list, to be compared on the dashboard. */
import { COMPARED_MOST } from '../../src/shared/protocols/dashboardProtocol.ts';
import { count } from '../common/format.ts';

/** Whether this number of runs can be compared, and what is said of it: one is looked at, the others lie over it. */
export function describeChosen(selected: number): { readonly words: string; readonly possible: boolean } {
  const most = COMPARED_MOST + 1;
  if (selected === 0) {
    return { words: 'Select runs to compare them', possible: false };
  }
  return selected > most
    ? { words: `${count(selected)} selected; the dashboard compares at most ${count(most)}`, possible: false }
    : { words: `${count(selected)} selected`, possible: true };
}
