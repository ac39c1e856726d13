/** The header of the dashboard: the run, its status and actions, and the settings of charts. */

import { isResumable } from '../../src/domain/run.ts';
import { CHART_AXES, type ChartAxis, type DashboardSnapshot } from '../../src/shared/protocols/dashboardProtocol.ts';
import { Chooser, type Choice } from '../common/chooser.ts';
import { badge, h, replace } from '../common/dom.ts';
import { button } from '../common/toolkit.ts';
import { AXIS_WORDS, SCALE_WORDS, SCALES, type Scale } from './chart/axes.ts';
import { SMOOTHINGS, type Smoothing } from './chart/smoothing.ts';
import { describeRunProgress } from './summary.ts';
import { toPlainTitle } from './view.ts';

const SMOOTHING_WORDS: Readonly<Record<Smoothing, string>> = {
  automatic: 'Smoothing: automatic',
  none: 'Smoothing: none',
  10: 'Smoothing: 10 steps',
  50: 'Smoothing: 50 steps',
};

/** The settings of the charts. */
export interface Drawing {
  readonly smoothing: Smoothing;
  readonly axis: ChartAxis;
  readonly scale: Scale;
}

export interface ControlEvents {
  chooseRun(run: string): void;
  redraw(change: Partial<Drawing>): void;
  togglePause(): void;
  resume(run: string): void;
  cancel(): void;
  taxonomy(run: string): void;
}

export class Controls {
  readonly element: HTMLElement;
  private readonly events: ControlEvents;
  private readonly chooser = new Chooser('Run', (run) => this.events.chooseRun(run));
  private readonly status = h('span', { class: 'status', role: 'status' });
  private readonly waiting = h('span', { class: 'muted waiting' });
  private readonly pause = button('Pause', () => this.events.togglePause(), {
    title: 'Freezes the charts while a run is in progress',
  });
  private readonly smoother = new Chooser(
    'Smoothing',
    (value) => this.events.redraw({ smoothing: SMOOTHINGS.find((known) => known === value) ?? 'automatic' }),
    { choices: SMOOTHINGS.map((value) => [value, SMOOTHING_WORDS[value]]) },
  );
  private readonly axisChooser = new Chooser(
    'Horizontal axis',
    (value) => this.events.redraw({ axis: CHART_AXES.find((known) => known === value) ?? 'step' }),
    { choices: CHART_AXES.map((value) => [value, AXIS_WORDS[value].choice]) },
  );
  private readonly scaleChooser = new Chooser(
    'Scales',
    (value) => this.events.redraw({ scale: SCALES.find((known) => known === value) ?? 'linear' }),
    { choices: SCALES.map((value) => [value, SCALE_WORDS[value]]) },
  );
  private readonly actions = h('span', { class: 'actions' });
  private shownActions = '';

  /** @param picker the menu of the runs that are laid over this one */
  constructor(picker: HTMLElement, events: ControlEvents) {
    this.events = events;
    this.element = h(
      'header',
      { class: 'panel-head' },
      h('h1', {}, 'Run dashboard'),
      this.chooser.element,
      picker,
      this.status,
      h(
        'span',
        { class: 'push controls' },
        this.waiting,
        this.axisChooser.element,
        this.scaleChooser.element,
        this.smoother.element,
        this.pause,
        this.actions,
      ),
    );
  }

  /** Sets the dropdowns to the settings of the charts. */
  set drawing({ smoothing, axis, scale }: Drawing) {
    this.smoother.value = smoothing;
    this.axisChooser.value = axis;
    this.scaleChooser.value = scale;
  }

  /** @param paused true if the charts are frozen */
  show(snapshot: DashboardSnapshot, paused: boolean): void {
    this.chooser.choices = snapshot.runs.map(({ id, title, started }): Choice => [
      id,
      `${toPlainTitle(title)}, ${started}`,
    ]);
    this.chooser.value = snapshot.run.id;
    replace(
      this.status,
      badge(snapshot.status, snapshot.status === 'failed' ? 'bad' : 'plain'),
      h('span', { class: 'muted' }, describeRunProgress(snapshot)),
    );
    this.drawActions(snapshot);
    this.pause.hidden = snapshot.status !== 'running' && !paused;
  }

  /** @param words text on how many steps wait to be drawn; empty if none does */
  showWaiting(words: string, paused: boolean): void {
    this.waiting.textContent = paused ? (words === '' ? 'Paused' : `Paused, ${words}`) : words;
    this.pause.textContent = paused ? 'Continue' : 'Pause';
  }

  focus(): void {
    this.chooser.element.focus();
  }

  /** Redraws the buttons only if they changed, because one of them may have the focus. */
  private drawActions({ run, status, live }: DashboardSnapshot): void {
    const shown = JSON.stringify([run.id, isResumable(status), live === null]);
    if (shown === this.shownActions) {
      return;
    }
    this.shownActions = shown;
    replace(
      this.actions,
      isResumable(status) ? button('Resume run', () => this.events.resume(run.id)) : null,
      live === null ? null : button('Cancel run', () => this.events.cancel()),
      button('Failure taxonomy', () => this.events.taxonomy(run.id)),
    );
  }
}
