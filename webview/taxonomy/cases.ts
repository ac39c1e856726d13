/** The cases of one class; each opens the transcript at its message. */
import type { TaxonomyCase, TaxonomyClass } from '../../src/shared/records.ts';
import { h } from '../common/dom.ts';
import { count, oneLine } from '../common/format.ts';
import { button } from '../common/toolkit.ts';

/** Cases drawn at first, and with each "Show more". */
const PAGE = 50;

/** The list; `named` adds the class's name above it. */
export function caseList(entry: TaxonomyClass, named: boolean, open: (message: number) => void): HTMLElement {
  const list = h('ul', { class: 'cases', 'aria-label': entry.name });
  const section = h('section', {}, named && entry.count > 0 ? h('h2', {}, entry.name) : null, list);
  let shown = 0;
  const more = button('', () => { grow(); });
  const grow = (): void => {
    list.append(...entry.cases.slice(shown, shown + PAGE).map((item) => caseItem(item, open)));
    shown = Math.min(entry.cases.length, shown + PAGE);
    more.textContent = `Show more (${count(entry.cases.length - shown)})`;
    if (shown === entry.cases.length) more.remove();
    else section.append(more);
  };
  grow();
  return section;
}

function caseItem(item: TaxonomyCase, open: (message: number) => void): HTMLElement {
  const link = h('button', { class: 'case', type: 'button', title: 'Open the transcript at this message' }, h('span', { class: 'role' }, item.eventType), h('span', { class: 'case-question' }, oneLine(item.question)), h('span', { class: 'evidence muted' }, item.evidence));
  link.addEventListener('click', () => { open(item.message); });
  return h('li', {}, link);
}
