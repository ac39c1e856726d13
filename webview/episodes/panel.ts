/** The start page of a run: the grid of problems, search, filters and the selected question. */

import { roundTitle } from '../../src/domain/evaluation.ts';
import {
  CLEAREST_FIRST,
  NO_PROBLEM_FILTER,
  type ProblemColumn,
  type ProblemFilter,
  type ProblemSort,
  type ProblemRound,
} from '../../src/domain/problem.ts';
import { NO_CHOICE, type ColumnChoice } from '../../src/shared/protocols/columnChoice.ts';
import {
  EPISODES_REQUESTS,
  isEpisodesState,
  NO_PLACE,
  type EpisodesFromHost,
  type EpisodesRun,
  type EpisodesToHost,
  type ProblemLayout,
  type ProblemPlace,
  type ShownProblem,
} from '../../src/shared/protocols/episodesProtocol.ts';
import { showInvisibleControls } from '../../src/shared/text/visible.ts';
import { Chooser, type Choice } from '../common/chooser.ts';
import { ColumnChooser } from '../common/columnChooser.ts';
import { h, linkButton, replace } from '../common/dom.ts';
import { count, describeShownCredit, toSingleLine, plural, formatReturnValue } from '../common/format.ts';
import type { Host, MessageHandlers } from '../common/host.ts';
import { keySheet } from '../common/keySheet.ts';
import { RequestSender } from '../common/requests.ts';
import { copyAsWritten, createTextNodes } from '../common/shownText.ts';
import { button } from '../common/toolkit.ts';
import { COLUMNS } from './columns.ts';
import { Grid } from './grid.ts';
import { GRID_KEYS } from './keys.ts';
import { Toolbar } from './toolbar.ts';
import { describeListedProblems, describeScoresByHand } from './words.ts';

export class EpisodesPanel {
  private readonly host: Host<EpisodesToHost>;
  private readonly requests: RequestSender<typeof EPISODES_REQUESTS>;
  private readonly runChooser = new Chooser('Run', (run) => {
    this.grid.expect();
    this.host.post({ type: 'chooseRun', run });
  });
  private readonly about = h('span', { class: 'muted about' });
  private readonly listed = h('span', { class: 'muted listed', role: 'status' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly note = h('p', { class: 'note', role: 'status' });
  /** The sentence on how reliable the run's model judge is, shown above the credits based on it. */
  private readonly judge = h('p', { class: 'note judge', hidden: true });
  private readonly reason = h('p', { class: 'muted banner' });
  private readonly toolbar: Toolbar;
  private readonly grid: Grid;
  private readonly details: Details;
  private readonly keys = keySheet('Keys of the grid', GRID_KEYS);
  private readonly nothing = h('div', { class: 'nothing-listed', role: 'status' });
  private readonly body: HTMLElement;
  private readonly empty: HTMLElement;
  private run: EpisodesRun | null = null;
  private filter: ProblemFilter = NO_PROBLEM_FILTER;
  private sort: ProblemSort = CLEAREST_FIRST;
  private place: ProblemPlace = NO_PLACE;
  /** The requested order that is not here yet, serialized; null if none is pending. */
  private asked: string | null = null;
  /** The newest order, until its rows are drawn and described. */
  private newest: ProblemLayout | null = null;
  private readonly chooser: ColumnChooser;
  private choice: ColumnChoice = NO_CHOICE;
  /** Columns in which at least one row has a value. */
  private filled: readonly ProblemColumn[] = COLUMNS.map(({ name }) => name);
  private classified = false;
  private detailed = true;
  private focused = false;

  private readonly received: MessageHandlers<EpisodesFromHost> = {
    opened: (message) => this.opened(message.run, message.runs, message.note),
    saved: (message) => {
      this.toolbar.show(message.filters);
      this.choice = message.columns;
      this.showColumns();
    },
    layout: (message) => {
      const { layout } = message;
      this.banner.textContent = '';
      const answered = this.asked === null || this.asked === serializeOrder(layout);
      // The answer to an older request must not undo what was requested since.
      if (answered) {
        ({ filter: this.filter, sort: this.sort } = layout);
      }
      this.toolbar.update(this.filter, this.sort, layout.facets);
      this.filled = layout.facets.filled;
      this.showColumns();
      this.newest = layout;
      if (answered) {
        this.asked = null;
      }
      this.grid.layout(layout, this.place, answered);
      this.focusOnce();
      this.keep();
    },
    reply: (message) => this.requests.receive(message),
    classes: (message) => {
      this.toolbar.classes(message.classes);
      this.classified = message.classes.state === 'known';
      this.showColumns();
      this.reason.textContent =
        message.classes.state === 'failed' ? `Not classified: ${message.classes.reason ?? 'the engine failed'}` : '';
    },
    empty: () => {
      this.empty.hidden = false;
      this.body.hidden = true;
      this.runChooser.element.hidden = true;
      this.about.textContent = '';
      this.listed.textContent = '';
      this.newest = null;
    },
    failed: (message) => {
      this.asked = null;
      this.grid.failed();
      this.banner.textContent = message.message;
    },
  };

  constructor(root: HTMLElement, host: Host<EpisodesToHost>) {
    this.host = host;
    this.requests = new RequestSender(EPISODES_REQUESTS, (message) => host.post(message));
    const state = host.getState();
    if (isEpisodesState(state)) {
      ({ filter: this.filter, sort: this.sort, place: this.place, details: this.detailed } = state);
    }
    this.chooser = new ColumnChooser((columns) => {
      this.choice = columns;
      host.post({ type: 'columns', columns });
      this.showColumns();
    });
    this.toolbar = new Toolbar({
      filter: (filter, sort) => this.ask(filter, sort ?? this.sort),
      save: () => host.post({ type: 'saveFilter', filter: this.filter, sort: this.sort }),
      remove: (name) => host.post({ type: 'deleteFilter', name }),
      classify: () => host.post({ type: 'classify' }),
      leave: () => this.grid.focus(),
    });
    this.grid = new Grid({
      ask: (revision, offset) => {
        this.requests.ask('rows', { revision, offset }, (rows) => {
          if (rows !== null) {
            this.grid.accept(revision, offset, rows);
          }
        });
      },
      sort: (sort) => this.ask(this.filter, sort),
      open: (row, beside) => host.post({ type: 'open', problem: row.id, round: null, beside }),
      choose: (problem) => this.choose(problem),
      moved: (row) => this.details.update(row),
      placed: () => this.placed(),
      command: (command) => {
        switch (command) {
          case 'search':
            this.toolbar.focusSearch();
            break;
          case 'filter':
            this.toolbar.focusFilters();
            break;
          case 'details':
            this.showDetails(!this.detailed);
            break;
          case 'dashboard':
          case 'taxonomy':
            host.post({ type: command });
            break;
          case 'keys':
            this.keys.toggle();
            break;
        }
      },
    });
    this.details = new Details({
      open: (row, round) => {
        host.post({
          type: 'open',
          problem: row.id,
          round: round === null || round.phase === 'replay' ? null : { phase: round.phase, iteration: round.iteration },
          beside: false,
        });
      },
    });
    const keys = linkButton(() => this.keys.toggle(), { 'aria-haspopup': 'dialog' }, 'Keys ( ? )');
    this.empty = h(
      'div',
      { class: 'welcome' },
      h('h2', {}, 'No runs yet'),
      h('p', { class: 'muted' }, 'The problems of a run appear here from its first episode on.'),
      button('Start C3 run', () => host.post({ type: 'startRun' }), { primary: true }),
    );
    this.body = h(
      'div',
      { class: 'episodes' },
      this.toolbar.element,
      this.grid.element,
      this.nothing,
      this.details.element,
    );
    this.empty.hidden = true;
    this.nothing.hidden = true;
    const head = h(
      'header',
      { class: 'panel-head' },
      h('h1', { class: 'for-readers' }, 'Episodes'),
      this.runChooser.element,
      this.about,
      h(
        'span',
        { class: 'push actions' },
        this.listed,
        this.chooser.element,
        this.way('saveCsv'),
        this.way('saveData'),
        keys,
        ...(['dashboard', 'taxonomy', 'runsTable'] as const).map((type) => this.way(type)),
      ),
    );
    replace(root, head, this.note, this.judge, this.banner, this.reason, this.empty, this.body, this.keys.element);
    this.showDetails(this.detailed);
    host.listen(this.received);
    window.addEventListener('focus', () => {
      if (document.activeElement === document.body) {
        this.grid.focus();
      }
    });
    host.post({ type: 'ready', filter: this.filter, sort: this.sort, place: this.place });
  }

  private way(type: 'dashboard' | 'taxonomy' | 'runsTable' | 'saveCsv' | 'saveData'): HTMLElement {
    const words = {
      dashboard: ['Dashboard', 'Open the run dashboard (G)'],
      taxonomy: ['Taxonomy', 'Inspect the failure taxonomy (T)'],
      runsTable: ['All runs', 'Open the runs table'],
      saveData: ['Data set', 'Save the questions and answers of the listed problems as data of a run'],
      saveCsv: ['CSV', 'Save the listed problems as comma-separated values'],
    }[type];
    return linkButton(() => this.host.post({ type }), { title: words[1] ?? null }, words[0] ?? '');
  }

  private opened(
    run: EpisodesRun,
    runs: readonly { readonly id: string; readonly title: string }[],
    note: string | null,
  ): void {
    if (this.run !== null && this.run.id !== run.id) {
      this.place = NO_PLACE;
      this.grid.restart();
    }
    this.run = run;
    this.empty.hidden = true;
    this.body.hidden = false;
    this.runChooser.element.hidden = false;
    this.runChooser.choices = runs.map(({ id, title }): Choice => [id, showInvisibleControls(title)]);
    this.runChooser.value = run.id;
    this.about.textContent = `${run.description}, ${run.status}`;
    this.note.textContent = note ?? '';
    this.note.hidden = note === null;
    this.judge.textContent = run.judge ?? '';
    this.judge.hidden = run.judge === null;
    this.keep();
  }

  /** Requests another filter or order. The new list is shown from its top. */
  private ask(filter: ProblemFilter, sort: ProblemSort): void {
    this.filter = filter;
    this.sort = sort;
    this.place = NO_PLACE;
    this.asked = serializeOrder({ filter, sort });
    this.grid.expect();
    this.host.post({ type: 'list', filter, sort, place: NO_PLACE });
    this.keep();
  }

  /** Selects a problem that was clicked in a previous order, in its row of the newest order. */
  private choose(problem: number): void {
    this.place = { ...this.place, active: problem };
    this.host.post({ type: 'list', filter: this.filter, sort: this.sort, place: this.place });
    this.keep();
  }

  private placed(): void {
    if (this.newest !== null) {
      this.say(this.newest);
      this.newest = null;
    }
    // The requested list is shown from its top, so the position in this one does not matter.
    if (this.asked !== null) {
      return;
    }
    const place = this.grid.place;
    if (place.active === this.place.active && place.top === this.place.top && place.offset === this.place.offset) {
      return;
    }
    this.place = place;
    this.host.post({ type: 'place', place });
    this.keep();
  }

  /** Shows how many problems are listed. It describes the rows on screen, never those on their way. */
  private say(layout: ProblemLayout): void {
    this.listed.textContent = describeListedProblems(layout);
    this.nothing.hidden = layout.rows > 0;
    this.nothing.textContent =
      layout.facets.total === 0 ? 'The run has no episodes yet.' : 'No problems match the filters.';
  }

  /** Focuses the grid when the panel opens, unless another element has the focus already. */
  private focusOnce(): void {
    if (this.focused || !document.hasFocus()) {
      return;
    }
    this.focused = true;
    if (document.activeElement === document.body || document.activeElement === null) {
      this.grid.focus();
    }
  }

  private showColumns(): void {
    const columns = COLUMNS.map((column) => ({
      ...column,
      usual: column.name === 'class' ? this.classified : this.filled.includes(column.name),
    }));
    this.chooser.update(columns, this.choice);
    this.grid.show(COLUMNS.filter((_, place) => columns[place] !== undefined && this.chooser.isShown(columns[place])));
  }

  private showDetails(shown: boolean): void {
    this.detailed = shown;
    this.details.element.hidden = !shown;
    this.keep();
  }

  private keep(): void {
    if (this.run === null) {
      return;
    }
    this.host.setState({
      version: 1,
      run: this.run.id,
      filter: this.filter,
      sort: this.sort,
      place: this.place,
      details: this.detailed,
    });
  }
}

/** Serializes the filter and the sort, which decide the problems listed and their order. */
function serializeOrder({
  filter: { outcome, verdict, split, role, className, search },
  sort: { column, descending },
}: {
  readonly filter: ProblemFilter;
  readonly sort: ProblemSort;
}): string {
  return JSON.stringify([outcome, verdict, split, role, className, search, column, descending]);
}

// The pane below the grid: the full question of the focused row, its facts, and links to its rounds.

interface DetailEvents {
  open(row: ShownProblem, round: ProblemRound | null): void;
}

class Details {
  readonly element: HTMLElement;
  private readonly events: DetailEvents;
  private readonly question = h('p', { class: 'whole', tabindex: 0, 'aria-label': 'The whole question' });
  private readonly facts = h('p', { class: 'muted facts' });
  private readonly clearest = h('p', { class: 'facts' });
  private readonly rounds = h('ul', { class: 'rounds', 'aria-label': 'Rounds of this problem' });
  private readonly open = button(
    'Open transcript',
    () => {
      if (this.row !== null) {
        this.events.open(this.row, null);
      }
    },
    { primary: true, title: 'Open the transcript at the clearest message (Enter)' },
  );
  private row: ShownProblem | null = null;
  private shown = '';

  constructor(events: DetailEvents) {
    this.events = events;
    copyAsWritten(this.question);
    this.element = h(
      'section',
      { class: 'details', 'aria-label': 'Selected problem' },
      h('div', { class: 'details-text' }, this.question, this.facts, this.clearest, this.rounds),
      this.open,
    );
  }

  update(row: ShownProblem | null): void {
    this.row = row;
    const words = row === null ? '' : JSON.stringify(row);
    if (words === this.shown) {
      return;
    }
    this.shown = words;
    this.element.classList.toggle('nothing', row === null);
    this.open.toggleAttribute('disabled', row === null);
    if (row === null) {
      for (const part of [this.question, this.facts, this.clearest, this.rounds]) {
        replace(part);
      }
      return;
    }
    replace(this.question, ...createTextNodes(row.question), row.cut ? '…' : null);
    this.facts.textContent = showInvisibleControls(
      toSingleLine(
        [
          `uid ${row.uid}`,
          row.source === '' ? '' : `source ${row.source}`,
          row.level === null ? '' : `level ${row.level}`,
          row.handScore === null ? '' : describeScoresByHand(row),
          row.tags.length === 0 ? '' : `tags ${row.tags.join(', ')}`,
        ]
          .filter((part) => part !== '')
          .join(' · '),
      ),
    );
    const { clearest: found } = row;
    replace(
      this.clearest,
      ...(found === null
        ? ['No credit is measured for this problem.']
        : [
            `Clearest: ${found.role}, ${describeShownCredit(found.credit)}: `,
            ...createTextNodes(toSingleLine(found.text)),
          ]),
    );
    this.clearest.classList.toggle('muted', found === null);
    replace(this.rounds, ...row.rounds.map((round) => this.roundItem(row, round)));
  }

  private roundItem(row: ShownProblem, round: ProblemRound): HTMLElement {
    const { phase, iteration, mean, episodes } = round;
    const outcome = mean === null ? 'masked' : formatReturnValue(mean);
    const link = linkButton(
      () => this.events.open(row, round),
      { title: `Open the transcript of this round: ${plural(episodes, 'episode')}` },
      `${roundTitle(phase, iteration)}: ${outcome}${episodes > 1 ? ` (${count(episodes)})` : ''}`,
    );
    return h('li', {}, link);
  }
}
