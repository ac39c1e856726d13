/** Shows a return as an icon and a number: won, failed, between, masked, or not measured. */

import { BY_HAND } from '../../src/domain/episode.ts';
import type { Outcome } from '../../src/shared/credit/returns.ts';
import { h, icon, type IconName } from './dom.ts';
import { NOT_MEASURED, formatReturnValue } from './format.ts';

/**
 * Returns the icon, tone and label of a return.
 * @param outcome `masked` if the evaluator failed; null if nothing was measured
 */
export function chooseReturnMark(
  value: number | null,
  outcome: Outcome | 'masked' | null,
): { readonly icon: IconName | null; readonly tone: string; readonly label: string } {
  if (outcome === 'masked') {
    return { icon: 'masked', tone: 'muted', label: 'masked' };
  }
  if (value === null || outcome === null) {
    return { icon: null, tone: 'muted', label: NOT_MEASURED };
  }
  if (outcome === 'won') {
    return { icon: 'check', tone: 'good', label: formatReturnValue(value) };
  }
  if (outcome === 'failed') {
    return { icon: 'cross', tone: 'bad', label: formatReturnValue(value) };
  }
  return { icon: null, tone: 'plain', label: formatReturnValue(value) };
}

/**
 * Creates the icon and the number for the return of a message: the mean of the scored episodes below
 * it.
 * @param byHand true if the user gave the score
 */
export function createReturnCell(value: number | null, outcome: Outcome | null, byHand = false): HTMLElement {
  const mark = chooseReturnMark(value, outcome);
  const number = h('span', value === null ? { title: mark.label } : {}, value === null ? '–' : mark.label);
  return h(
    'span',
    { class: `return tone-${mark.tone}`, title: byHand ? BY_HAND : null },
    mark.icon === null ? null : icon(mark.icon),
    number,
    byHand ? icon('pencil') : null,
  );
}
