/** The bar above the tree: the search with the number of hits, and one filter per property. */

import { TAXONOMY_CLASSES } from '../../../src/domain/taxonomy.ts';
import {
  NO_FILTER,
  QUERY_LIMIT,
  type FilterChoices,
  type SearchHits,
  type TranscriptFilter,
  type TranscriptLayout,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import { Chooser, type Choice } from '../../common/chooser.ts';
import { h } from '../../common/dom.ts';
import { count } from '../../common/format.ts';
import { DelayedWork } from '../../common/rest.ts';
import { iconButton } from '../../common/toolkit.ts';
import { Drawer } from '../drawer.ts';
import { findShownKey } from '../keys.ts';
import { describeMatching } from '../replay/replayWords.ts';

/** Milliseconds without a key press before the search starts. */
const PAUSE = 120;

export interface SearchEvents {
  search(query: string): void;
  step(direction: 1 | -1): void;
  filter(filter: TranscriptFilter): void;
  /** Moves the focus back to the tree. */
  leave(): void;
  /** Shows the key sheet. */
  keys(): void;
}

const CREDITS: readonly Choice[] = [
  ['', 'Any credit'],
  ['positive', 'Credit above 0'],
  ['negative', 'Credit below 0'],
  ['zero', 'Credit of 0'],
  ['none', 'Credit not measured'],
];
const LANES: readonly Choice[] = [
  ['', 'Run and replays'],
  ['run', 'Run only'],
  ['replays', 'Replays only'],
];
const OUTCOMES: readonly Choice[] = [
  ['', 'Any return'],
  ['won', 'Won'],
  ['lost', 'Lost'],
  ['between', 'Won in part'],
  ['none', 'Not scored'],
];

export class SearchBar {
  readonly element: HTMLElement;
  private readonly events: SearchEvents;
  private readonly field = h('input', {
    type: 'search',
    class: 'search-field',
    placeholder: `Search messages ( ${findShownKey('search')} )`,
    'aria-label': 'Search messages',
    maxlength: QUERY_LIMIT,
    spellcheck: 'false',
  });
  private readonly hits = h('span', { class: 'muted hits', role: 'status' });
  private readonly role = this.chooser('Role');
  private readonly credit = this.chooser('Credit', CREDITS);
  private readonly outcome = this.chooser('Return', OUTCOMES);
  private readonly label = this.chooser('Label or failure class');
  private readonly lane = this.chooser('Run or replays', LANES);
  private readonly clear = h('button', { class: 'link', type: 'button' }, 'Clear filters');
  private readonly matching = h('span', { class: 'muted matching', role: 'status' });
  private readonly filters: Drawer;
  private readonly asking = new DelayedWork(() => this.events.search(this.field.value), PAUSE);
  private filter: TranscriptFilter = NO_FILTER;

  /** @param protocol the button that opens the map of the protocol if space is short */
  constructor(events: SearchEvents, protocol: HTMLElement) {
    this.events = events;
    this.field.addEventListener('input', () => this.asking.ask());
    this.field.addEventListener('keydown', (event) => this.onKey(event));
    this.clear.addEventListener('click', () => {
      this.role.element.focus();
      events.filter(NO_FILTER);
    });
    const sign = h('span', { class: 'key-sign' }, ` ( ${findShownKey('keys')} )`);
    const keys = h('button', { class: 'link keys-button', type: 'button', 'aria-haspopup': 'dialog' }, 'Keys', sign);
    keys.addEventListener('click', () => events.keys());
    const line = [...this.choosers.map(({ element }) => element), this.clear, this.matching];
    this.filters = new Drawer('Filters', 'filters', h('div', { class: 'filter-line' }, ...line));
    this.element = h(
      'div',
      { class: 'search-bar', role: 'search' },
      h(
        'div',
        { class: 'search-line' },
        this.field,
        iconButton('↑', 'Previous match (P)', () => events.step(-1)),
        iconButton('↓', 'Next match (N)', () => events.step(1)),
        this.hits,
      ),
      this.filters.toggle,
      this.filters.element,
      protocol,
      keys,
    );
    const replayed = { requests: 0, replays: 0, messages: 0, matching: 0 };
    this.show(NO_FILTER, { roles: [], labels: [] }, { messages: 0, matching: 0, replayed });
  }

  /** The words of the search. */
  get query(): string {
    return this.field.value;
  }

  /** Sets the words in the field without searching. */
  set query(words: string) {
    this.field.value = words;
  }

  focusSearch(): void {
    this.field.focus();
    this.field.select();
  }

  focusFilter(): void {
    this.filters.show(true);
    this.role.element.focus();
  }

  /** Shows the current filter and the number of matching messages. */
  show(
    filter: TranscriptFilter,
    choices: FilterChoices,
    layout: Pick<TranscriptLayout, 'messages' | 'matching' | 'replayed'>,
  ): void {
    this.filter = filter;
    const roles =
      filter.role === null || choices.roles.includes(filter.role) ? choices.roles : [...choices.roles, filter.role];
    this.role.choices = [['', 'Any role'], ...roles.map((role): Choice => [role, role])];
    this.label.choices = [
      ['', 'Any label or class'],
      ...choices.labels.map((name): Choice => [`label:${name}`, `Label: ${name}`]),
      ...TAXONOMY_CLASSES.map((name): Choice => [`class:${name}`, `Class: ${name}`]),
    ];
    this.role.value = filter.role ?? '';
    this.credit.value = filter.credit ?? '';
    this.outcome.value = filter.outcome ?? '';
    this.label.value = filter.label ?? '';
    this.lane.value = filter.lane ?? '';
    this.lane.element.hidden = layout.replayed.requests === 0 && filter.lane === null;
    const set = Object.values(filter).filter((value) => value !== null).length;
    this.clear.hidden = set === 0;
    this.matching.textContent = set === 0 ? '' : describeMatching(layout);
    this.filters.name = set === 0 ? 'Filters' : `Filters (${set})`;
    for (const { element, value } of this.choosers) {
      element.classList.toggle('set', value !== '');
    }
  }

  /** @param at place of the focused hit, from 0; null if the focused row is not a hit */
  showHits(hits: SearchHits | null, at: number | null): void {
    this.hits.textContent = hits === null || hits.query.trim() === '' ? '' : describeHits(hits, at);
  }

  private chooser(label: string, choices: readonly Choice[] = []): Chooser {
    return new Chooser(label, () => this.events.filter(this.chosen()), { choices, leave: () => this.events.leave() });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      event.preventDefault();
      // Words that were not searched for yet are searched for now, which goes to their first hit.
      if (this.asking.waiting) {
        this.asking.now();
      } else {
        this.events.step(event.shiftKey ? -1 : 1);
      }
    } else if (event.key === 'Escape') {
      event.preventDefault();
      // The first Escape clears the field, the second leaves it.
      if (this.field.value === '') {
        this.events.leave();
      } else {
        this.field.value = '';
        this.asking.now();
      }
    } else if (event.key === 'ArrowDown') {
      event.preventDefault();
      this.events.leave();
    }
  }

  private get choosers(): readonly Chooser[] {
    return [this.role, this.credit, this.outcome, this.label, this.lane];
  }

  private chosen(): TranscriptFilter {
    const credit = this.credit.value;
    const outcome = this.outcome.value;
    const lane = this.lane.value;
    return {
      role: this.role.value === '' ? null : this.role.value,
      credit: credit === 'positive' || credit === 'negative' || credit === 'zero' || credit === 'none' ? credit : null,
      outcome: outcome === 'won' || outcome === 'lost' || outcome === 'between' || outcome === 'none' ? outcome : null,
      label: this.label.value === '' ? null : this.label.value,
      lane: lane === 'run' || lane === 'replays' ? lane : null,
    };
  }

  /** Filters for a role, or removes that filter. */
  toggleRole(role: string): void {
    this.events.filter({ ...this.filter, role: this.filter.role === role ? null : role });
  }
}

/** Describes the hits of a search: `3 / 17`, and the number of hits elsewhere. */
export function describeHits({ rows, total, hidden, elsewhere }: SearchHits, at: number | null): string {
  const further = [
    hidden === 0 ? null : `${count(hidden)} hidden by the filter`,
    elsewhere === null
      ? 'many elsewhere in the run'
      : elsewhere === 0
        ? null
        : `${count(elsewhere)} elsewhere in the run`,
  ];
  const here =
    total === 0
      ? 'no match'
      : `${at === null ? '–' : count(at + 1)} / ${count(total)}${total > rows.length ? `, only the first ${count(rows.length)} can be stepped through` : ''}`;
  return [here, ...further.filter((words) => words !== null)].join(' · ');
}
