/** An expanded case: alternatives with returns, the form for a label, and the history of labels. */

import { findCurrentLabel, labelFault, VERDICTS, isVerdictName, LABEL_LIMIT } from '../../src/domain/taxonomy.ts';
import type { CaseAlternative, CaseDetail, LabelDraft } from '../../src/shared/protocols/taxonomyProtocol.ts';
import { Chooser, type Choice } from '../common/chooser.ts';
import { createCreditCell, createVerdict } from '../common/creditBar.ts';
import { h, linkButton, replace } from '../common/dom.ts';
import { count, decimal, NOT_MEASURED, formatReturnValue } from '../common/format.ts';
import { createTextNodes } from '../common/shownText.ts';
import { term } from '../common/term.ts';
import { button, textArea, textField } from '../common/toolkit.ts';
import { formatLocalTime } from './words.ts';

/** Values of the dropdown that are not classes: nothing chosen, and a label in the user's own words. */
const NONE = '';
const OWN = 'in my own words';

export interface CaseActions {
  open(message: number): void;
  label(bucket: number, name: string, note: string): void;
  /** The unsaved fields changed; null if there are none. */
  draft(draft: LabelDraft | null): void;
}

export class CaseDetailView {
  readonly element = h('div', { class: 'case-detail' });
  readonly bucket: number;
  private readonly actions: CaseActions;
  private readonly alternatives = h('div', {}, h('p', { class: 'muted' }, 'Reading the case'));
  private readonly history = h('div', {});
  private readonly chooser = new Chooser('Your label', () => this.changed(), {
    choices: [[NONE, 'Choose a label'], ...VERDICTS.map((name): Choice => [name, name]), [OWN, 'In my own words']],
  });
  private readonly own = textField('In your own words', { maxlength: LABEL_LIMIT, size: 40 });
  private readonly note = textArea('Note', { rows: 2, cols: 60, resize: 'vertical' });
  private readonly takeBack = button('Remove label', () => this.send(''), {
    title: 'Remove your label; earlier labels stay in the history',
  });
  private readonly status = h('p', { class: 'muted', role: 'status' });
  private readonly fault = h('p', { class: 'problem', role: 'alert' });
  /** True while the fields have unsaved changes. */
  private touched: boolean;

  constructor(bucket: number, draft: LabelDraft | null, actions: CaseActions) {
    this.bucket = bucket;
    this.actions = actions;
    this.touched = draft !== null;
    this.own.addEventListener('input', () => this.changed());
    this.note.addEventListener('input', () => this.changed());
    this.fill(draft?.name ?? '', draft?.note ?? '');
    const save = button('Save label', () => this.save(), { primary: true });
    const form = h(
      'section',
      { class: 'label-form', 'aria-label': 'Your label' },
      h('h3', {}, 'Your label'),
      h('div', { class: 'label-fields' }, this.chooser.element, this.own),
      this.note,
      h('div', { class: 'actions' }, save, this.takeBack, this.status),
      this.fault,
    );
    this.element.append(this.alternatives, h('div', { class: 'label-side' }, form, this.history));
  }

  /** Shows the stored data of the case. */
  show({ alternatives, labels }: CaseDetail): void {
    const label = findCurrentLabel(labels);
    if (!this.touched) {
      this.fill(label?.name ?? '', label?.note ?? '');
    }
    this.takeBack.toggleAttribute('disabled', label === null);
    replace(this.alternatives, alternativeTable(alternatives, this.actions));
    replace(
      this.history,
      ...(labels.length === 0
        ? []
        : [
            h('h3', {}, 'History'),
            h(
              'ol',
              { class: 'history', reversed: true },
              ...labels
                .toReversed()
                .map(({ name, note, author, createdAt }, index) =>
                  h(
                    'li',
                    { class: index === 0 ? null : 'superseded' },
                    h('span', { class: 'label-name' }, name === '' ? 'removed' : name),
                    h(
                      'span',
                      { class: 'muted' },
                      ` ${author}, ${formatLocalTime(createdAt)}${index === 0 ? '' : ', superseded'}`,
                    ),
                    note === '' ? null : h('p', { class: 'note' }, note),
                  ),
                ),
            ),
          ]),
    );
  }

  /** Handles that the label was stored. */
  saved(): void {
    this.touched = false;
    this.fault.textContent = '';
    this.status.textContent = 'Saved.';
    this.actions.draft(null);
  }

  refused(message: string): void {
    this.status.textContent = '';
    this.fault.textContent = message;
  }

  private fill(name: string, note: string): void {
    const known = isVerdictName(name);
    this.chooser.value = known ? name : name === '' ? NONE : OWN;
    this.own.value = known ? '' : name;
    this.note.value = note;
    this.own.hidden = this.chooser.value !== OWN;
  }

  private name(): string {
    return this.chooser.value === OWN ? this.own.value.trim() : this.chooser.value;
  }

  private changed(): void {
    this.touched = true;
    this.own.hidden = this.chooser.value !== OWN;
    this.status.textContent = 'Not saved yet.';
    this.fault.textContent = '';
    this.actions.draft({ bucket: this.bucket, name: this.name(), note: this.note.value });
  }

  private save(): void {
    const name = this.name();
    if (name === '') {
      this.refused(this.chooser.value === OWN ? 'Write the label, or choose one.' : 'Choose a label first.');
    } else {
      this.send(name);
    }
  }

  /** @param name the label; empty to remove it */
  private send(name: string): void {
    const note = this.note.value;
    const fault = labelFault(name, note);
    if (fault !== null) {
      this.refused(fault);
      return;
    }
    this.fault.textContent = '';
    this.status.textContent = 'Saving';
    this.actions.label(this.bucket, name, note);
  }
}

function alternativeTable(alternatives: readonly CaseAlternative[], actions: CaseActions): HTMLElement {
  const head = h(
    'thead',
    {},
    h(
      'tr',
      {},
      h('th', { scope: 'col' }, 'Alternative'),
      h('th', { scope: 'col' }, 'Returns'),
      h('th', { scope: 'col', class: 'number' }, 'Mean'),
      h('th', { scope: 'col' }, term('credit', 'Credit')),
      h('th', { scope: 'col', class: 'number' }, 'Calls'),
    ),
  );
  const rows = alternatives.map(({ message, text, cut, real, returns, evaluatorCalls, credit }) => {
    const link = linkButton(
      () => actions.open(message),
      { class: 'link message', title: 'Open the transcript at this alternative' },
      ...(text === '' ? ['(empty)'] : createTextNodes(text)),
      cut ? '\u2026' : '',
    );
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, link, real ? h('span', { class: 'badge badge-plain' }, 'real') : null),
      h('td', { class: 'returns' }, formatGroupedReturns(returns)),
      h('td', { class: 'number' }, formatMeasuredMean(returns)),
      h('td', { class: 'case-credit' }, createCreditCell(credit), credit === null ? null : createVerdict(credit)),
      h('td', { class: 'number' }, count(evaluatorCalls)),
    );
  });
  return h('table', { class: 'alternatives stacked' }, head, h('tbody', {}, ...rows));
}

/** Formats returns in order. Equal neighbors are grouped: `3 × 1`. */
export function formatGroupedReturns(returns: readonly (number | null)[]): string {
  if (returns.length === 0) {
    return NOT_MEASURED;
  }
  const groups: { value: number | null; times: number }[] = [];
  for (const value of returns) {
    const last = groups.at(-1);
    if (last !== undefined && last.value === value) {
      last.times += 1;
    } else {
      groups.push({ value, times: 1 });
    }
  }
  return groups
    .map(
      ({ value, times }) =>
        `${times > 1 ? `${times} \u00d7 ` : ''}${value === null ? 'masked' : formatReturnValue(value)}`,
    )
    .join(', ');
}

/** Formats the mean of the returns that are not masked. */
export function formatMeasuredMean(returns: readonly (number | null)[]): string {
  const measured = returns.filter((value): value is number => value !== null);
  return measured.length === 0
    ? NOT_MEASURED
    : decimal(measured.reduce((sum, value) => sum + value, 0) / measured.length);
}
