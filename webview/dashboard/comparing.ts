/** The menu that chooses runs to lay over the shown one, and the legend that distinguishes them. */

import { COMPARED_MOST, type DashboardSnapshot } from '../../src/shared/protocols/dashboardProtocol.ts';
import { h, replace } from '../common/dom.ts';
import { count, formatPercent1, plural } from '../common/format.ts';
import { readThemeValue } from '../common/theme.ts';
import { checkbox, type Checkbox } from '../common/toolkit.ts';
import { chooseLook } from './chart/looks.ts';
import { ChosenRuns } from './chosenRuns.ts';
import { toPlainTitle, type ShownRun, type View } from './view.ts';

/** Pixels between the list of runs and the edge of the page. */
const MARGIN = 8;

export class RunPicker {
  readonly element: HTMLDetailsElement;
  private readonly list = h('fieldset', {}, h('legend', { class: 'for-readers' }, 'Runs to compare with'));
  private readonly note = h('p', { class: 'muted' });
  private readonly summary = h('summary', {}, 'Compare runs');
  private readonly body = h('div', { class: 'picker-body' }, this.note, this.list);
  private readonly choose: (runs: readonly string[]) => void;
  private snapshot: DashboardSnapshot | null = null;
  private drawn = '';
  private readonly chosen = new ChosenRuns();
  /** The check boxes by run. */
  private boxes: ReadonlyMap<string, Checkbox> = new Map();

  /** @param choose receives the chosen runs in the order in which they were chosen */
  constructor(choose: (runs: readonly string[]) => void) {
    this.choose = choose;
    this.element = h('details', { class: 'picker' }, this.summary, this.body);
    window.addEventListener('resize', () => this.place());
    this.element.addEventListener('toggle', () => this.draw());
    this.element.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape' || !this.element.open) {
        return;
      }
      this.element.open = false;
      this.summary.focus();
    });
    // A press anywhere else closes the menu.
    document.addEventListener('pointerdown', ({ target }) => {
      if (target instanceof Node && !this.element.contains(target)) {
        this.element.open = false;
      }
    });
  }

  show(snapshot: DashboardSnapshot): void {
    this.snapshot = snapshot;
    this.chosen.receive(snapshot);
    const chosen = snapshot.compared.length;
    this.summary.textContent = chosen === 0 ? 'Compare runs' : `Compared with ${plural(chosen, 'run')}`;
    this.draw();
  }

  /** Redraws the boxes only if the runs changed, because one of them may have the focus. */
  private draw(): void {
    const { snapshot } = this;
    if (!this.element.open || snapshot === null) {
      return;
    }
    const own = snapshot.runs.find(({ id }) => id === snapshot.run.id)?.task;
    // Returns of different tasks cannot be compared.
    const others = snapshot.runs.filter(({ id, task }) => id !== snapshot.run.id && task.key === own?.key);
    const elsewhere = snapshot.runs.length - others.length - 1;
    const drawn = JSON.stringify(others);
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.boxes = new Map(others.map((run) => [run.id, this.boxOf(run)]));
      replace(this.list, this.list.firstElementChild, ...this.boxes.values());
    }
    const chosen = this.chosen.all;
    const full = chosen.length >= COMPARED_MOST;
    for (const [id, box] of this.boxes) {
      box.checked = chosen.includes(id);
      box.disabled = full && !box.checked;
    }
    this.note.textContent =
      others.length === 0
        ? elsewhere > 0
          ? `There is no other run of this task (${own?.label ?? ''}) in the store.`
          : 'There are no other runs in the store.'
        : full
          ? `At most ${COMPARED_MOST} runs can be compared. Remove one to choose another.`
          : `Drawn over the current run, on the same axes; at most ${COMPARED_MOST}.${elsewhere > 0 ? ` ${count(elsewhere)} of other tasks ${elsewhere === 1 ? 'is' : 'are'} left out.` : ''}`;
    this.place();
  }

  private boxOf({ id, title, started }: DashboardSnapshot['runs'][number]): Checkbox {
    const words = h('span', {}, h('bdi', {}, toPlainTitle(title)), ', ', h('span', { class: 'muted' }, started));
    const box = checkbox(words, this.chosen.all.includes(id));
    box.addEventListener('change', () => {
      // The event also fires when `checked` is set by code.
      if (box.checked !== this.chosen.all.includes(id)) {
        this.toggle(id, box.checked);
      }
    });
    return box;
  }

  /** Places the list under its button, inside the page. */
  private place(): void {
    if (!this.element.open) {
      return;
    }
    this.body.style.insetInlineStart = '0';
    const beyond = this.body.getBoundingClientRect().right - (document.documentElement.clientWidth - MARGIN);
    if (beyond > 0) {
      this.body.style.insetInlineStart = `${-Math.ceil(beyond)}px`;
    }
  }

  /** Adds a run to the charts or removes it. */
  toggle(run: string, on: boolean): void {
    this.choose(this.chosen.toggle(run, on));
  }

  /** Handles a failure of the host. */
  failed(): void {
    this.chosen.failed();
  }
}

/** Creates the legend of the runs in the charts. Returns null if there is only one run. */
export function createLegend(view: View, remove: (run: string) => void): HTMLElement | null {
  if (view.runs.length < 2) {
    return null;
  }
  return h(
    'ul',
    { class: 'legend', 'aria-label': 'Runs in the charts' },
    ...view.runs.map((run, look) =>
      h(
        'li',
        {},
        drawSample(look),
        h('strong', {}, run.tag),
        h('bdi', {}, toPlainTitle(run.record.title)),
        h('span', { class: 'muted' }, describeShownRun(run)),
        look === 0 ? null : createRemoveButton(run, remove),
      ),
    ),
  );
}

function describeShownRun({ record, rows, evaluations }: ShownRun): string {
  const greedy = evaluations.flatMap(({ kind, result }) =>
    kind === 'greedy' && result !== null ? [formatPercent1(result.value)] : [],
  );
  const accuracy = greedy.length < 3 ? greedy : greedy.filter((_, index) => index === 0 || index === greedy.length - 1);
  return [
    `${record.method}, seed ${record.seed}`,
    `${count(rows.length)} steps`,
    ...(accuracy.length === 0 ? [] : [accuracy.join(' → ')]),
  ].join(', ');
}

function createRemoveButton({ record, tag }: ShownRun, remove: (run: string) => void): HTMLElement {
  const element = h('button', { type: 'button', class: 'tool', 'aria-label': `Remove run ${tag}` }, 'Remove');
  element.addEventListener('click', () => remove(record.id));
  return element;
}

/** Draws a piece of a run's line with its marker. */
function drawSample(index: number): HTMLCanvasElement {
  const canvas = h('canvas', { width: 64, height: 24, class: 'sample', 'aria-hidden': 'true' });
  const ctx = canvas.getContext('2d');
  const { colour, dashes, marker } = chooseLook(index);
  if (ctx === null) {
    return canvas;
  }
  ctx.scale(2, 2);
  ctx.strokeStyle = readThemeValue(colour);
  ctx.fillStyle = readThemeValue(colour);
  ctx.lineWidth = 1.5;
  ctx.setLineDash([...dashes]);
  ctx.beginPath();
  ctx.moveTo(0, 6);
  ctx.lineTo(32, 6);
  ctx.stroke();
  ctx.setLineDash([]);
  drawMarker(ctx, marker, 16, 6, 4);
  return canvas;
}

function drawMarker(
  ctx: CanvasRenderingContext2D,
  marker: ReturnType<typeof chooseLook>['marker'],
  x: number,
  y: number,
  r: number,
): void {
  const path = (...corners: readonly (readonly [number, number])[]): void => {
    ctx.beginPath();
    corners.forEach(([dx, dy], index) => {
      if (index === 0) {
        ctx.moveTo(x + r * dx, y + r * dy);
      } else {
        ctx.lineTo(x + r * dx, y + r * dy);
      }
    });
  };
  const cross = (turn: number): void => {
    for (const angle of [turn, turn + Math.PI / 2]) {
      path([Math.cos(angle), Math.sin(angle)], [-Math.cos(angle), -Math.sin(angle)]);
      ctx.stroke();
    }
  };
  switch (marker) {
    case 'circle':
      ctx.beginPath();
      ctx.arc(x, y, r * 0.8, 0, 2 * Math.PI);
      ctx.fill();
      break;
    case 'rect':
      ctx.fillRect(x - r * 0.75, y - r * 0.75, r * 1.5, r * 1.5);
      break;
    case 'triangle':
      path([0, -1], [1, 0.8], [-1, 0.8]);
      ctx.fill();
      break;
    case 'rectRot':
      path([0, -1], [1, 0], [0, 1], [-1, 0]);
      ctx.fill();
      break;
    case 'crossRot':
      cross(Math.PI / 4);
      break;
    case 'star':
      cross(0);
      cross(Math.PI / 4);
      break;
  }
}
