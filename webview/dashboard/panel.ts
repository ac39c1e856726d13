/** The run dashboard: charts and summary of a run, step by step, with other runs laid over it. */

import {
  isDashboardState,
  STEPS_MOST,
  type DashboardFromHost,
  type DashboardSnapshot,
  type DashboardToHost,
} from '../../src/shared/protocols/dashboardProtocol.ts';
import { focusedIn, h, replace } from '../common/dom.ts';
import { plural } from '../common/format.ts';
import type { Host, MessageHandlers } from '../common/host.ts';
import { onceRested } from '../common/rest.ts';
import { onThemeChange } from '../common/theme.ts';
import { button } from '../common/toolkit.ts';
import { RequestedRuns } from './asked.ts';
import { toLogScales } from './chart/axes.ts';
import type { Target } from './chart/lines.ts';
import { createLegend, RunPicker } from './comparing.ts';
import { Controls, type Drawing } from './controls.ts';
import { FigureList } from './figureList.ts';
import { Hold } from './hold.ts';
import { lossesSection } from './losses.ts';
import { judgeNote, ledgerTable, outcomeTable } from './summary.ts';
import {
  cutView,
  keepRuns,
  countStepsByRun,
  countNewSteps,
  buildDashboardView,
  addStepWindow,
  type StepsByRun,
  type View,
} from './view.ts';

/** Milliseconds between two drawings while steps stream in. */
const DRAW_MILLISECONDS = 250;
const PAUSED = 'paused';
export class DashboardPanel {
  private readonly root: HTMLElement;
  private readonly host: Host<DashboardToHost>;
  private readonly figures: FigureList;
  private readonly hold = new Hold<View>();
  private readonly picker = new RunPicker((runs) => this.compare(runs));
  private readonly controls: Controls;
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly spoken = h('p', { class: 'for-readers', 'aria-live': 'polite' });
  private readonly legend = h('div', { class: 'legend-place' });
  private readonly losses = h('div', { class: 'losses-place' });
  private readonly summary = h('section', { class: 'summary', 'aria-label': 'Summary' });
  private readonly body: HTMLElement;
  private drawing: Drawing = { smoothing: 'automatic', axis: 'step', scale: 'linear' };
  private snapshot: DashboardSnapshot | null = null;
  private steps: StepsByRun = new Map();
  private legendDrawn = '';
  private lossesDrawn = '';
  private timer: number | null = null;
  private drawnAt = 0;
  private readonly asked = new RequestedRuns();
  /** Scroll position to restore; null once that is done or the user scrolls. */
  private scroll: number | null = null;
  /** Steps of each run that a paused view showed before its page was discarded, else null. */
  private stood: readonly number[] | null = null;

  private readonly received: MessageHandlers<DashboardFromHost> = {
    snapshot: (message) => this.take(message.snapshot),
    steps: (message) => {
      this.steps = addStepWindow(this.steps, message.window);
      this.drawSoon();
    },
    empty: () => this.empty(),
    failed: (message) => this.fail(message.message),
  };

  constructor(root: HTMLElement, host: Host<DashboardToHost>) {
    this.root = root;
    this.host = host;
    const state = host.getState();
    this.figures = new FigureList(
      {
        announce: (words) => {
          this.spoken.textContent = words;
        },
        reading: (figure, on) => this.read(figure, on),
        open: (target) => this.open(target),
        copyText: (text) => host.post({ type: 'copy', text }),
        tableToggled: () => this.keep(),
      },
      isDashboardState(state) ? state.tables : [],
    );
    if (isDashboardState(state)) {
      const { smoothing, axis, scale } = state;
      this.drawing = { smoothing, axis, scale };
      this.scroll = state.scroll;
      this.stood = state.paused;
      if (this.stood !== null) {
        this.hold.hold(PAUSED);
      }
    }
    // If the user acts before everything is drawn, the old scroll position is not restored.
    for (const kind of ['wheel', 'keydown', 'pointerdown']) {
      window.addEventListener(
        kind,
        () => {
          this.scroll = null;
        },
        { passive: true },
      );
    }
    window.addEventListener(
      'scroll',
      onceRested(() => this.keep()),
      { passive: true },
    );
    this.controls = new Controls(this.picker.element, {
      chooseRun: (run) => this.choose(run),
      redraw: (change) => {
        this.drawing = { ...this.drawing, ...change };
        this.draw();
        this.keep();
      },
      togglePause: () => this.togglePause(),
      resume: (run) => host.post({ type: 'resumeRun', run }),
      cancel: () => host.post({ type: 'cancelRun' }),
      taxonomy: (run) => host.post({ type: 'taxonomy', run }),
    });
    this.body = h('div', { class: 'dashboard' }, this.legend, this.losses, this.summary, this.figures.element);
    onThemeChange(() => {
      this.figures.restyle();
      this.drawLegend(true);
    });
    host.listen(this.received);
    host.post({ type: 'ready' });
  }

  private take(snapshot: DashboardSnapshot): void {
    if (!this.body.isConnected) {
      replace(this.root, this.controls.element, this.banner, this.body, this.spoken);
      this.controls.drawing = this.drawing;
    }
    this.snapshot = snapshot;
    const runs = [snapshot.run, ...snapshot.compared].map(({ id }) => id);
    this.steps = keepRuns(this.steps, runs);
    if (this.asked.answered(runs)) {
      // Other runs are shown, so the paused view is dropped.
      this.stood = null;
    }
    this.banner.textContent = '';
    this.picker.show(snapshot);
    this.controls.show(snapshot, this.hold.has(PAUSED));
    this.keep();
    this.drawSoon();
  }

  /** Schedules a drawing, so that steps that arrive in many parts are drawn together. */
  private drawSoon(): void {
    const wait = Math.max(0, this.drawnAt + DRAW_MILLISECONDS - performance.now());
    this.timer ??= window.setTimeout(() => {
      this.timer = null;
      this.offer();
    }, wait);
  }

  private offer(): void {
    if (this.snapshot === null) {
      return;
    }
    const view = buildDashboardView(this.snapshot, this.steps);
    const { waiting } = this.asked;
    // Requested runs are shown even while the view is held, until all their steps are here.
    if (this.hold.offer(this.stood === null || !waiting ? view : cutView(view, this.stood), waiting)) {
      this.draw();
    }
    this.drawnAt = performance.now();
    if (waiting && hasAllSteps(view)) {
      this.asked.complete();
      // Steps that came after the pause wait, as they would without the reload.
      this.hold.offer(view);
      this.keep();
    }
    this.drawWaiting();
  }

  private draw(): void {
    const view = this.hold.shown;
    if (view === null) {
      return;
    }
    const { smoothing, axis, scale } = this.drawing;
    this.drawLosses(view);
    replace(this.summary, outcomeTable(view), ledgerTable(view.snapshot), judgeNote(view.snapshot));
    this.drawLegend();
    this.figures.show(view, { smoothing, axis, scales: toLogScales(scale) });
    this.scrollBack(view);
  }

  /** Redraws the section only if it changed, because the user may be reading it. */
  private drawLosses({ snapshot: { run, losses } }: View): void {
    const words = JSON.stringify([run.id, losses]);
    if (words === this.lossesDrawn) {
      return;
    }
    this.lossesDrawn = words;
    const wasSearching = this.losses.querySelector('[role="status"]') !== null;
    const hasKeyboard =
      focusedIn(this.losses) !== null ||
      (wasSearching && document.hasFocus() && document.activeElement === document.body);
    replace(
      this.losses,
      lossesSection(losses, {
        find: () => this.host.post({ type: 'findLosses', run: run.id }),
        tryChange: (role) => this.host.post({ type: 'tryChange', run: run.id, role }),
        openMessage: (message) => this.host.post({ type: 'openMessage', message }),
      }),
    );
    // If the focus was in the section, it stays there; an answer gets it if nothing else in the page has it.
    if (hasKeyboard) {
      this.losses.querySelector('h2')?.focus();
    }
  }

  /** Restores the scroll position of a discarded page until the page is as long as it was. */
  private scrollBack(view: View): void {
    if (this.scroll === null) {
      return;
    }
    window.scrollTo(0, this.scroll);
    if (hasAllSteps(view, this.stood)) {
      this.scroll = null;
    }
  }

  private drawLegend(anew = false): void {
    const view = this.hold.shown;
    if (view === null) {
      return;
    }
    const words = JSON.stringify([
      joinRunIds(view),
      view.runs.map(({ rows, record, evaluations }) => [rows.length, record.title, evaluations]),
    ]);
    if (words === this.legendDrawn && !anew) {
      return;
    }
    this.legendDrawn = words;
    const focused = focusedIn(this.legend)?.getAttribute('aria-label') ?? null;
    replace(
      this.legend,
      createLegend(view, (run) => {
        this.picker.toggle(run, false);
        this.controls.focus();
      }),
    );
    // Restores the focus to the redrawn button.
    for (const element of this.legend.querySelectorAll('button')) {
      if (element.getAttribute('aria-label') === focused) {
        element.focus();
      }
    }
  }

  private drawWaiting(): void {
    const { shown, waiting } = this.hold;
    const steps = shown === null || waiting === null ? 0 : countNewSteps(shown, waiting);
    const words = steps === 0 ? '' : `${plural(steps, 'step')} waiting`;
    this.controls.showWaiting(words, this.hold.has(PAUSED));
  }

  private togglePause(): void {
    if (this.hold.has(PAUSED)) {
      this.release(PAUSED);
    } else {
      this.hold.hold(PAUSED);
    }
    this.stood = null;
    this.keep();
    this.spoken.textContent = this.hold.has(PAUSED) ? 'Paused: the charts do not update.' : 'The charts update again.';
    this.drawWaiting();
  }

  private read(figure: string, on: boolean): void {
    if (on) {
      this.hold.hold(`at ${figure}`);
    } else {
      this.release(`at ${figure}`);
    }
    this.drawWaiting();
  }

  private release(reason: string): void {
    if (this.hold.release(reason)) {
      this.draw();
    }
  }

  private open(target: Target): void {
    if (target.kind === 'run') {
      this.choose(target.run);
    } else {
      this.host.post({ type: 'openRound', run: target.run, phase: target.phase, iteration: target.iteration });
    }
  }

  private empty(): void {
    replace(
      this.root,
      h(
        'div',
        { class: 'welcome' },
        h('h1', {}, 'No runs yet'),
        h(
          'p',
          { class: 'muted' },
          'A run evaluates the team, trains it and evaluates it again. Its charts appear here while it runs.',
        ),
        button('Start C3 run', () => this.host.post({ type: 'startRun' }), { primary: true }),
      ),
    );
  }

  private fail(message: string): void {
    this.picker.failed();
    this.banner.textContent = message;
    if (!this.banner.isConnected) {
      replace(this.root, this.banner);
    }
  }

  private choose(run: string): void {
    this.host.post({ type: 'choose', run });
  }

  private compare(runs: readonly string[]): void {
    this.host.post({ type: 'compare', runs });
  }

  private keep(): void {
    if (this.snapshot === null) {
      return;
    }
    const { shown } = this.hold;
    const paused = this.hold.has(PAUSED) ? (this.stood ?? (shown === null ? null : countStepsByRun(shown))) : null;
    this.host.setState({
      version: 5,
      ...this.drawing,
      run: this.snapshot.run.id,
      compared: this.snapshot.compared.map(({ id }) => id),
      tables: this.figures.openTables,
      paused,
      scroll: this.scroll ?? Math.round(window.scrollY),
    });
  }
}

/** Returns true if all steps of the shown runs are here, or as many as `counts` says. */
const hasAllSteps = ({ runs }: View, counts: readonly number[] | null = null): boolean =>
  runs.every(
    ({ record, rows }, index) => rows.length >= Math.min(record.steps, STEPS_MOST, counts?.[index] ?? Infinity),
  );
const joinRunIds = ({ runs }: View): string => runs.map(({ record }) => record.id).join(' ');
