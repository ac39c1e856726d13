/** A return as a mark and a number: one, zero, between, masked, or not measured. */
import { h, icon, type IconName } from './dom.ts';
import { NOT_MEASURED, returnText } from './format.ts';

/** The mark of a return; `masked` says that the evaluator failed, so that there is no score. */
export function markOf(
  value: number | null,
  masked: boolean,
): { readonly icon: IconName | null; readonly tone: string; readonly label: string } {
  if (masked) {
    return { icon: 'masked', tone: 'muted', label: 'masked' };
  }
  if (value === null) {
    return { icon: null, tone: 'muted', label: NOT_MEASURED };
  }
  if (value >= 1) {
    return { icon: 'check', tone: 'good', label: returnText(value) };
  }
  if (value <= 0) {
    return { icon: 'cross', tone: 'bad', label: returnText(value) };
  }
  return { icon: null, tone: 'plain', label: returnText(value) };
}

/** The mark with its number, for a message: the mean of what was scored below it. */
export function returnCell(value: number | null): HTMLElement {
  const mark = markOf(value, false);
  const number = h('span', value === null ? { title: mark.label } : {}, value === null ? '–' : mark.label);
  return h('span', { class: `return tone-${mark.tone}` }, mark.icon === null ? null : icon(mark.icon), number);
}
