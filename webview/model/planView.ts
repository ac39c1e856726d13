/** The memory plan: a bar for each place with the numbers behind it, and what to change where it does not fit. */
import type { MemoryPlan, RunPlan } from '../../src/shared/models.ts';
import { bytesWords } from '../../src/shared/text/sizes.ts';
import { badge, h } from '../common/dom.ts';
import { COLOURS, memoryBar, type NumberedItem } from './memoryBar.ts';
import { budgetWords, placeName, totalWords, verdict } from './words.ts';

/** Everything below the plan's settings. */
export function planView({ memory, budget }: RunPlan): readonly (HTMLElement | null)[] {
  const items = memory.items.map((item, index) => ({ ...item, number: index + 1 }));
  return [
    ...memory.totals.map((total) =>
      h(
        'figure',
        {},
        h(
          'figcaption',
          {},
          h('span', {}, `${placeName(total.place)}: ${totalWords(total)}`),
          badge(verdict(total.fits), total.fits === false ? 'bad' : 'plain'),
        ),
        memoryBar(
          items.filter(({ place }) => place === total.place),
          total,
        ),
      ),
    ),
    advice(memory),
    table(items, new Set(items.map(({ place }) => place)).size > 1),
    h('p', { class: 'muted' }, budgetWords(budget)),
  ];
}

function advice({ advice: sentences }: MemoryPlan): HTMLElement | null {
  if (sentences.length === 0) {
    return null;
  }
  return h(
    'div',
    { class: 'advice', role: 'note', 'aria-label': 'What to change' },
    h('p', {}, 'It does not fit. What to change, most effective first:'),
    h('ol', {}, ...sentences.map((sentence) => h('li', {}, sentence))),
  );
}

function table(items: readonly NumberedItem[], places: boolean): HTMLElement {
  const head = ['Item', ...(places ? ['Where'] : []), 'Memory', 'How to reduce it'];
  return h(
    'table',
    { class: 'items' },
    h('caption', { class: 'for-readers' }, 'Memory by item'),
    h(
      'thead',
      {},
      h('tr', {}, ...head.map((name) => h('th', { scope: 'col', class: name === 'Memory' ? 'number' : null }, name))),
    ),
    h('tbody', {}, ...items.map((item) => row(item, places))),
  );
}

function row(item: NumberedItem, places: boolean): HTMLElement {
  const swatch = h(
    'span',
    { class: `swatch colour-${(item.number - 1) % COLOURS}`, 'aria-hidden': 'true' },
    String(item.number),
  );
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('span', { class: 'item-name' }, swatch, item.name)),
    places ? h('td', {}, placeName(item.place)) : null,
    h('td', { class: 'number' }, bytesWords(item.bytes)),
    h('td', { class: 'muted' }, item.advice ?? '–'),
  );
}
