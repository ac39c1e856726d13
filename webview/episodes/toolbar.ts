/** The line above the grid: search, filters and saved filters. */

import {
  NO_PROBLEM_FILTER,
  NOT_CLASSIFIED,
  OUTCOME_FILTERS,
  SPLIT_FILTERS,
  VERDICT_FILTERS,
  type OutcomeFilter,
  type ProblemFacets,
  type ProblemFilter,
  type ProblemSort,
  type SplitFilter,
  type VerdictFilter,
} from '../../src/domain/problem.ts';
import { SEARCH_LIMIT, type ClassState, type SavedFilter } from '../../src/shared/protocols/episodesProtocol.ts';
import { Chooser, type Choice } from '../common/chooser.ts';
import { h } from '../common/dom.ts';
import { count } from '../common/format.ts';
import { DelayedWork } from '../common/rest.ts';

/** Milliseconds without a key press before the search starts. */
const PAUSE = 160;
const ANY = '';

const OUTCOME_WORDS: Readonly<Record<OutcomeFilter, string>> = {
  all: 'Any outcome',
  lost: 'Lost',
  between: 'Won in part',
  won: 'Won',
  changed: 'Changed',
  improved: 'Improved',
  worsened: 'Worsened',
};
const VERDICT_WORDS: Readonly<Record<VerdictFilter, string>> = {
  all: 'Any verdict',
  helped: 'Helped',
  hurt: 'Hurt',
  undecided: 'Undecided',
  none: 'Not measured',
};
const SPLIT_WORDS: Readonly<Record<SplitFilter, string>> = {
  all: 'Both splits',
  train: 'Training',
  evaluation: 'Evaluation',
};

export interface ToolbarEvents {
  /** @param sort the sort of a saved filter, else null */
  filter(filter: ProblemFilter, sort: ProblemSort | null): void;
  save(): void;
  remove(name: string): void;
  classify(): void;
  /** Moves the focus back to the grid. */
  leave(): void;
}

export class Toolbar {
  readonly element: HTMLElement;
  private readonly events: ToolbarEvents;
  private readonly field = h('input', {
    type: 'search',
    class: 'search-field',
    placeholder: 'Search ( / )',
    'aria-label': 'Search questions, messages and metadata',
    maxlength: SEARCH_LIMIT,
    spellcheck: 'false',
    title:
      'Words in questions, messages and metadata. level:3, source:gsm8k, uid:12, question:apples, ' +
      'message:"two words", tag:odd and note:late search one field only.',
  });
  private readonly outcome = this.chooser(
    'Outcome',
    OUTCOME_FILTERS.map((name) => [name, OUTCOME_WORDS[name]]),
  );
  private readonly verdict = this.chooser(
    'Verdict of the clearest credit',
    VERDICT_FILTERS.map((name) => [name, VERDICT_WORDS[name]]),
  );
  private readonly role = this.chooser('Role of the clearest credit');
  private readonly className = this.chooser('Taxonomy class');
  private readonly split = this.chooser('Split');
  private readonly savedChooser = this.chooser('Saved filters', [], (value) => {
    const chosen = this.saved.find(({ name }) => name === value);
    if (chosen !== undefined) {
      this.take(chosen.filter, chosen.sort);
    }
  });
  private readonly saveButton = link('Save', 'Save the filters and the sort order under a name');
  private readonly removeButton = link('Delete', 'Delete the selected filter');
  private readonly clear = link('Clear', 'Show all problems');
  private readonly classify = link('Classify', 'Classify the problems of this run by the failure taxonomy');
  private readonly asking = new DelayedWork(() => this.events.filter(this.chosen(), null), PAUSE);
  private filter: ProblemFilter = NO_PROBLEM_FILTER;
  private sort: ProblemSort | null = null;
  private saved: readonly SavedFilter[] = [];
  private names: readonly string[] = [];
  private facets: ProblemFacets | null = null;

  constructor(events: ToolbarEvents) {
    this.events = events;
    this.field.addEventListener('input', () => this.asking.ask());
    this.field.addEventListener('keydown', (event) => this.onKey(event));
    this.saveButton.addEventListener('click', () => events.save());
    this.removeButton.addEventListener('click', () => events.remove(this.savedChooser.value));
    this.clear.addEventListener('click', () => {
      this.field.focus();
      this.take(NO_PROBLEM_FILTER, null);
    });
    this.classify.addEventListener('click', () => events.classify());
    this.element = h(
      'div',
      { class: 'toolbar', role: 'search' },
      this.field,
      this.outcome.element,
      this.verdict.element,
      this.role.element,
      this.className.element,
      this.classify,
      this.split.element,
      h('span', { class: 'saved' }, this.savedChooser.element, this.saveButton, this.removeButton, this.clear),
    );
    this.update(NO_PROBLEM_FILTER, null, null);
  }

  focusSearch(): void {
    this.field.focus();
    this.field.select();
  }

  focusFilters(): void {
    this.outcome.element.focus();
  }

  /** Shows the current filter and the available choices. */
  update(filter: ProblemFilter, sort: ProblemSort | null, facets: ProblemFacets | null): void {
    this.filter = filter;
    this.sort = sort;
    this.facets = facets ?? this.facets;
    const { total = 0, trained = 0, evaluated = 0, roles = [] } = this.facets ?? {};
    // Typed text is newer than the filter until its search has started, even without the focus.
    if (document.activeElement !== this.field && !this.asking.waiting) {
      this.field.value = filter.search;
    }
    this.role.choices = [[ANY, 'Any role'], ...withChosen(roles, filter.role).map((name): Choice => [name, name])];
    this.className.choices = [
      [ANY, 'Any class'],
      ...withChosen(this.names, filter.className === NOT_CLASSIFIED ? null : filter.className).map((name): Choice => [
        name,
        name,
      ]),
      [NOT_CLASSIFIED, 'Not classified'],
    ];
    const counts: Readonly<Record<SplitFilter, number>> = { all: total, train: trained, evaluation: evaluated };
    this.split.choices = SPLIT_FILTERS.map((name): Choice => [name, `${SPLIT_WORDS[name]} (${count(counts[name])})`]);
    for (const [chooser, value] of [
      [this.outcome, filter.outcome],
      [this.verdict, filter.verdict],
      [this.role, filter.role ?? ANY],
      [this.className, filter.className ?? ANY],
      [this.split, filter.split],
    ] as const) {
      chooser.value = value;
      chooser.element.classList.toggle('set', value !== ANY && value !== 'all');
    }
    this.markSaved();
  }

  /** Sets the saved filters. */
  show(saved: readonly SavedFilter[]): void {
    this.saved = saved;
    this.markSaved();
  }

  /** Sets the taxonomy classes and their state. */
  classes({ state, names }: ClassState): void {
    this.names = names;
    this.classify.hidden = state === 'known';
    this.classify.textContent = state === 'working' ? 'Classifying…' : 'Classify';
    this.classify.toggleAttribute('disabled', state === 'working');
    this.update(this.filter, this.sort, null);
  }

  private markSaved(): void {
    const same = this.saved.find(
      ({ filter, sort }) =>
        JSON.stringify(listFilterValues(filter)) === JSON.stringify(listFilterValues(this.filter)) &&
        (this.sort === null || (sort.column === this.sort.column && sort.descending === this.sort.descending)),
    );
    this.savedChooser.choices = [[ANY, 'Saved filters'], ...this.saved.map(({ name }): Choice => [name, name])];
    this.savedChooser.value = same?.name ?? ANY;
    this.savedChooser.element.hidden = this.saved.length === 0;
    this.removeButton.hidden = same === undefined;
    const open = JSON.stringify(listFilterValues(this.filter)) === JSON.stringify(listFilterValues(NO_PROBLEM_FILTER));
    this.saveButton.hidden = same !== undefined || open;
    this.clear.hidden = open;
  }

  /** Applies a chosen filter. Drops typed words that were not searched for yet. */
  private take(filter: ProblemFilter, sort: ProblemSort | null): void {
    this.asking.cancel();
    this.field.value = filter.search;
    this.events.filter(filter, sort);
  }

  private chosen(): ProblemFilter {
    return {
      outcome: OUTCOME_FILTERS.find((name) => name === this.outcome.value) ?? 'all',
      verdict: VERDICT_FILTERS.find((name) => name === this.verdict.value) ?? 'all',
      split: SPLIT_FILTERS.find((name) => name === this.split.value) ?? 'all',
      role: this.role.value === ANY ? null : this.role.value,
      className: this.className.value === ANY ? null : this.className.value,
      search: this.field.value,
    };
  }

  private chooser(
    label: string,
    choices: readonly Choice[] = [],
    onChoose: (value: string) => void = () => this.asking.now(),
  ): Chooser {
    const chooser = new Chooser(label, onChoose, { choices, leave: () => this.events.leave() });
    chooser.element.title = label;
    return chooser;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === 'Enter' || event.key === 'ArrowDown') {
      event.preventDefault();
      this.asking.now();
      this.events.leave();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      this.field.value = '';
      this.asking.now();
      this.events.leave();
    }
  }
}

function link(words: string, title: string): HTMLButtonElement {
  return h('button', { class: 'link', type: 'button', title }, words);
}

function withChosen(names: readonly string[], chosen: string | null): readonly string[] {
  return chosen === null || names.includes(chosen) ? names : [...names, chosen];
}

function listFilterValues({ outcome, verdict, split, role, className, search }: ProblemFilter): readonly unknown[] {
  return [outcome, verdict, split, role, className, search];
}
