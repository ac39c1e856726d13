/** The rows of the grid and its column headers. */

import type { ProblemSort } from '../../src/domain/problem.ts';
import type { ShownProblem } from '../../src/shared/protocols/episodesProtocol.ts';
import { h, icon, replace, setAttributes } from '../common/dom.ts';
import { indexAfterKey } from '../common/keyBindings.ts';
import type { Column } from './columns.ts';

/** Height of a row in pixels. The same value is in grid.css. */
export const ROW_HEIGHT = 24;

/** Returns the element id of a row, for aria-activedescendant. */
export function rowId(index: number): string {
  return `problem-${index}`;
}

/** Creates the row of a problem. */
export function rowElement(row: ShownProblem, index: number, columns: readonly Column[]): HTMLElement {
  const element = shell(index);
  element.dataset['vscodeContext'] = JSON.stringify({
    webviewSection: 'problem',
    problem: row.id,
    preventDefaultContextMenuItems: true,
  });
  element.append(...columns.map((column, place) => cellElement(column, place, row, index)));
  return element;
}

/** Creates the placeholder of a row whose data is not here yet. */
export function waitingElement(index: number): HTMLElement {
  const element = shell(index);
  setAttributes(element, { 'aria-busy': 'true' });
  element.append(h('div', { role: 'gridcell', class: 'cell waiting', 'aria-label': 'Loading' }, '…'));
  return element;
}

/** Returns the row that contains an event target and its index, or nulls outside of rows. */
export function findRowUnder(target: EventTarget | null): {
  readonly element: HTMLElement | null;
  readonly index: number | null;
} {
  const element = target instanceof Element ? target.closest<HTMLElement>('.row') : null;
  const index = element?.dataset['index'];
  return index === undefined ? { element: null, index: null } : { element, index: Number(index) };
}

// The header row has aria-rowindex 1.
function shell(index: number): HTMLElement {
  return h('div', { class: 'row', role: 'row', id: rowId(index), 'aria-rowindex': index + 2 });
}

function cellElement(column: Column, place: number, row: ShownProblem, index: number): HTMLElement {
  const words = column.words(row, index);
  const cell = h('div', {
    // The tooltip shows what a narrow column cuts off.
    title: words,
    class: `cell cell-${column.name}${column.numeric ? ' numeric' : ''}`,
    role: 'gridcell',
    'aria-colindex': place + 1,
    'aria-label': words,
  });
  cell.append(column.cell(row, index));
  return cell;
}

interface HeadCell {
  readonly column: Column;
  readonly cell: HTMLElement;
  readonly button: HTMLButtonElement;
  readonly arrow: HTMLElement;
}

/** The column headers. They are one tab stop: the arrow keys move between them, and Enter sorts. */
export class Heads {
  readonly element = h('div', { class: 'row heads', role: 'row', 'aria-rowindex': 1 });
  private cells: readonly HeadCell[] = [];
  private readonly choose: (sort: ProblemSort) => void;
  private readonly leave: () => void;
  private sort: ProblemSort | null = null;

  constructor(choose: (sort: ProblemSort) => void, leave: () => void) {
    this.choose = choose;
    this.leave = leave;
    this.element.addEventListener('keydown', (event) => this.onKey(event));
  }

  /** Shows the headers of these columns. */
  show(columns: readonly Column[]): void {
    this.cells = columns.map((column, place) => {
      const arrow = h('span', { class: 'sort-arrow', 'aria-hidden': 'true' });
      const button = h(
        'button',
        { type: 'button', class: 'head-button', title: `${column.meaning}. Sort by it.`, tabindex: -1 },
        h('span', { class: 'head-title' }, column.title),
        arrow,
      );
      button.addEventListener('click', () => this.by(column));
      const cell = h(
        'div',
        {
          class: `cell head-cell cell-${column.name}${column.numeric ? ' numeric' : ''}`,
          role: 'columnheader',
          'aria-colindex': place + 1,
        },
        button,
      );
      return { column, cell, button, arrow };
    });
    replace(this.element, ...this.cells.map(({ cell }) => cell));
    if (this.sort !== null) {
      this.update(this.sort);
    }
  }

  /** Shows the current sort. */
  update(sort: ProblemSort): void {
    this.sort = sort;
    const first = this.cells.some(({ column }) => column.name === sort.column)
      ? sort.column
      : this.cells[0]?.column.name;
    for (const { column, cell, button, arrow } of this.cells) {
      const sorted = column.name === sort.column;
      cell.setAttribute('aria-sort', sorted ? (sort.descending ? 'descending' : 'ascending') : 'none');
      button.tabIndex = column.name === first ? 0 : -1;
      replace(arrow, sorted ? icon('chevron') : null);
      arrow.classList.toggle('down', sort.descending);
    }
  }

  /** Focuses the header of the current sort. */
  focus(): void {
    (this.cells.find(({ button }) => button.tabIndex === 0) ?? this.cells[0])?.button.focus();
  }

  private by(column: Column): void {
    const descending = this.sort?.column === column.name ? !this.sort.descending : column.descending;
    this.choose({ column: column.name, descending });
  }

  private onKey(event: KeyboardEvent): void {
    const at = this.cells.findIndex(({ button }) => button === event.target);
    if (at < 0) {
      return;
    }
    event.stopPropagation();
    const to = indexAfterKey(event.key, at, this.cells.length, ['ArrowLeft', 'ArrowRight']);
    if (event.key === 'Escape' || event.key === 'ArrowDown') {
      event.preventDefault();
      this.leave();
    }
    const next = to === undefined ? undefined : this.cells[to];
    if (next === undefined) {
      return;
    }
    event.preventDefault();
    for (const { button } of this.cells) {
      button.tabIndex = -1;
    }
    next.button.tabIndex = 0;
    next.button.focus();
  }
}
