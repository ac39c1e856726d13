/** The table of classes with rules, counts and shares. A click on a class filters the cases. */

import {
  CHANCE_MEANING,
  describeLeftOut,
  describeUnmeasured,
  VERDICT_MEANING,
  VERDICTS,
  type TaxonomyView,
  type VerdictName,
} from '../../src/domain/taxonomy.ts';
import { h, linkButton, replace } from '../common/dom.ts';
import { count, NOT_MEASURED } from '../common/format.ts';
import {
  formatCountByChance,
  describeCountChange,
  formatCountChange,
  formatClassRank,
  describeClassRule,
  formatBucketShare,
  describeThresholds,
} from './words.ts';

interface Row {
  readonly name: VerdictName;
  readonly element: HTMLTableRowElement;
  readonly choose: HTMLButtonElement;
  readonly rule: HTMLElement;
  readonly count: HTMLElement;
  readonly chance: HTMLElement;
  readonly share: HTMLElement;
  readonly bar: HTMLElement;
}

export class ClassTable {
  readonly element: HTMLElement;
  private readonly caption = h('caption', { class: 'counted' });
  private readonly total = h('td', { class: 'number' });
  private readonly notes = h('div', { class: 'class-notes muted' });
  private readonly rows: readonly Row[];

  /** @param choose called with the class that is clicked */
  constructor(choose: (name: VerdictName) => void) {
    this.rows = VERDICTS.map((name) => createClassRow(name, choose));
    const table = h(
      'table',
      { class: 'classes stacked' },
      this.caption,
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, 'Class, in the order of precedence'),
          h('th', { scope: 'col', class: 'number' }, 'Buckets'),
          h('th', { scope: 'col', class: 'number', title: CHANCE_MEANING }, 'By chance'),
          h('th', { scope: 'col', class: 'number' }, 'Share'),
          h('td', {}),
        ),
      ),
      h('tbody', {}, ...this.rows.map(({ element }) => element)),
      h(
        'tfoot',
        {},
        h('tr', {}, h('th', { scope: 'row' }, 'All buckets'), this.total, h('td', {}), h('td', {}), h('td', {})),
      ),
    );
    this.element = h('div', {}, table, this.notes);
  }

  update({ counts, buckets, thresholds, leftOut, unmeasured }: TaxonomyView, chosen: VerdictName | null): void {
    this.caption.textContent = describeThresholds(thresholds);
    this.total.textContent = count(buckets);
    const notes = [describeUnmeasured(unmeasured), describeLeftOut(leftOut)];
    replace(this.notes, ...notes.filter((note) => note !== null).map((note) => h('p', {}, note)));
    for (const row of this.rows) {
      const found = counts.find(({ name }) => name === row.name) ?? { count: 0, published: 0, chance: null };
      row.element.classList.toggle('chosen', chosen === row.name);
      row.choose.setAttribute('aria-pressed', String(chosen === row.name));
      row.rule.textContent = describeClassRule(row.name, thresholds) ?? '';
      row.count.classList.toggle('moved', found.count !== found.published);
      const isUnmeasured = unmeasured.classes.some((name) => name === row.name);
      const words = isUnmeasured ? NOT_MEASURED : formatCountChange(found.published, found.count);
      if (found.count === found.published) {
        row.count.textContent = words;
      } else {
        replace(
          row.count,
          h('span', { 'aria-hidden': 'true' }, words),
          h('span', { class: 'for-readers' }, describeCountChange(found.published, found.count)),
        );
      }
      row.chance.textContent = isUnmeasured || found.chance === null ? '' : formatCountByChance(found.chance);
      row.share.textContent = isUnmeasured ? '' : formatBucketShare(found.count, buckets);
      row.bar.hidden = isUnmeasured;
      row.bar.style.width = `${buckets === 0 ? 0 : (100 * found.count) / buckets}%`;
    }
  }
}

function createClassRow(name: VerdictName, choose: (name: VerdictName) => void): Row {
  const button = linkButton(
    () => choose(name),
    { title: `${VERDICT_MEANING[name]} Click to list these cases only, or all again.` },
    name,
  );
  const rule = h('code', {});
  const number = h('td', { class: 'number count' });
  const chance = h('td', { class: 'number muted' });
  const share = h('td', { class: 'number' });
  const bar = h('span', { class: 'share-fill' });
  const rank = formatClassRank(name);
  const heading = h(
    'th',
    { scope: 'row' },
    h('span', { class: 'rank muted', 'aria-hidden': 'true' }, rank === '' ? '' : `${rank}.`),
    button,
    h('p', { class: 'muted' }, VERDICT_MEANING[name]),
    rank === '' ? null : h('p', { class: 'rule' }, rule),
  );
  const element = h(
    'tr',
    {},
    heading,
    number,
    chance,
    share,
    h('td', { class: 'share-bar', 'aria-hidden': 'true' }, bar),
  );
  return { name, element, choose: button, rule, count: number, chance, share, bar };
}
