/** The figures of the dashboard, in groups. Some depend on the roles of the runs. */

import { h, replace } from '../common/dom.ts';
import { Figure, type FigureEvents } from './chart/figure.ts';
import type { Drawn } from './chart/plot.ts';
import type { FigureSpec } from './figures.ts';
import { accuracyFigure, paretoFigure, listTasks } from './outcomeFigures.ts';
import { removalFigures } from './removalFigures.ts';
import {
  costFigures,
  creditFigure,
  optimizationFigures,
  returnFigure,
  listCreditedRoles,
  varianceFigure,
} from './stepFigures.ts';
import { trustFigures } from './trustFigures.ts';
import type { View } from './view.ts';

interface Group {
  readonly section: HTMLElement;
  readonly grid: HTMLElement;
  readonly specs: (view: View) => readonly FigureSpec[];
}

export class FigureList {
  readonly element: HTMLElement;
  private readonly doors: FigureEvents;
  private readonly figures = new Map<string, Figure>();
  /** Ids of the figures whose tables are to be open. */
  private readonly tables: Set<string>;
  private readonly groups: readonly Group[];
  /** Tells figures whether they are in view. Others are not drawn. */
  private readonly sight = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        for (const figure of this.figures.values()) {
          if (figure.element === target) {
            figure.seen(isIntersecting);
          }
        }
      }
    },
    { rootMargin: '240px' },
  );

  constructor(doors: FigureEvents, tables: readonly string[]) {
    this.doors = doors;
    this.tables = new Set(tables);
    const accuracy = [returnFigure(), accuracyFigure('greedy'), accuracyFigure('sampled')];
    const [costs, variance] = [costFigures(), varianceFigure()];
    this.groups = [
      createGroup('Outcome', (view) => [...accuracy, ...paretoFigures(view)]),
      createGroup('Training credit', (view) => [
        ...listCreditedRoles(view).map(creditFigure),
        ...removalFigures(view),
        variance,
      ]),
      createGroup('Optimization', optimizationFigures),
      createGroup('Trust region', trustFigures),
      createGroup('Cost', () => costs),
    ];
    this.element = h('div', { class: 'figures' }, ...this.groups.map(({ section }) => section));
  }

  /** Ids of the figures whose tables are open, also of figures that are not shown at the moment. */
  get openTables(): readonly string[] {
    for (const [id, figure] of this.figures) {
      if (figure.tableOpen) {
        this.tables.add(id);
      } else {
        this.tables.delete(id);
      }
    }
    return [...this.tables];
  }

  show(view: View, drawn: Drawn): void {
    for (const { grid, section, specs } of this.groups) {
      const figures = specs(view).map((spec) => this.figureOf(spec));
      const elements = figures.map(({ element }) => element);
      // The heading of an empty group is hidden too.
      section.hidden = elements.length === 0;
      // The grid is replaced only if its elements changed, because one of them may have the focus.
      if (
        elements.length !== grid.children.length ||
        elements.some((element, index) => grid.children[index] !== element)
      ) {
        replace(grid, ...elements);
      }
      for (const figure of figures) {
        figure.show(view, drawn);
      }
    }
    for (const figure of this.figures.values()) {
      if (!figure.element.isConnected) {
        figure.leave();
      }
    }
  }

  restyle(): void {
    for (const figure of this.figures.values()) {
      if (figure.element.isConnected) {
        figure.restyle();
      }
    }
  }

  private figureOf(spec: FigureSpec): Figure {
    const known = this.figures.get(spec.id);
    if (known !== undefined) {
      return known;
    }
    const figure = new Figure(spec, this.doors, this.tables.has(spec.id));
    this.figures.set(spec.id, figure);
    this.sight.observe(figure.element);
    return figure;
  }
}

/** Returns one figure for each task, or an empty figure if there are no tasks. */
function paretoFigures(view: View): readonly FigureSpec[] {
  const tasks = listTasks(view);
  return tasks.length === 0 ? [paretoFigure(null)] : tasks.map(paretoFigure);
}

function createGroup(title: string, specs: Group['specs']): Group {
  const grid = h('div', { class: 'charts' });
  return { section: h('section', { 'aria-label': title }, h('h2', {}, title), grid), grid, specs };
}
