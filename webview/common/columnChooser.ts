/** A menu of check boxes that chooses the columns of a table. */

import { chooseColumn, isColumnShown, NO_CHOICE, type ColumnChoice } from '../../src/shared/protocols/columnChoice.ts';
import { showInvisibleControls } from '../../src/shared/text/visible.ts';
import { h, replace } from './dom.ts';
import { checkbox } from './toolkit.ts';

export interface ChoosableColumn {
  readonly name: string;
  readonly title: string;
  readonly meaning: string;
  /** True if the column is shown until the user chooses otherwise. */
  readonly usual: boolean;
}

export class ColumnChooser {
  readonly element: HTMLDetailsElement;
  private readonly boxes = h('div', { class: 'column-boxes', role: 'group', 'aria-label': 'Columns' });
  private readonly changed: (choice: ColumnChoice) => void;
  private columns: readonly ChoosableColumn[] = [];
  private choice: ColumnChoice = NO_CHOICE;
  private drawn = '';

  constructor(changed: (choice: ColumnChoice) => void) {
    this.changed = changed;
    this.element = h('details', { class: 'column-chooser' }, h('summary', { class: 'link' }, 'Columns'), this.boxes);
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.element.open) {
        event.stopPropagation();
        this.element.open = false;
        this.element.querySelector('summary')?.focus();
      }
    });
    // The list covers a part of the table, so a click anywhere else closes it.
    document.addEventListener('click', ({ target }) => {
      if (target instanceof Node && !this.element.contains(target)) {
        this.element.open = false;
      }
    });
  }

  /** Returns true if the column is shown. */
  isShown({ name, usual }: Pick<ChoosableColumn, 'name' | 'usual'>): boolean {
    return isColumnShown(this.choice, name, usual);
  }

  /** Sets the available columns and the user's choice. Redraws the boxes only if something changed. */
  update(columns: readonly ChoosableColumn[], choice: ColumnChoice): void {
    this.columns = columns;
    this.choice = choice;
    const words = JSON.stringify(columns.map((column) => [column, this.isShown(column)]));
    if (words !== this.drawn) {
      this.drawn = words;
      this.draw();
    }
  }

  private draw(): void {
    const focused = Array.from(this.boxes.children).indexOf(document.activeElement ?? this.boxes);
    replace(
      this.boxes,
      ...this.columns.map((column) => {
        const box = checkbox(showInvisibleControls(column.title), this.isShown(column), column.meaning);
        box.addEventListener('change', () => {
          this.choice = chooseColumn(this.choice, column.name, box.checked, column.usual);
          this.changed(this.choice);
        });
        return box;
      }),
    );
    const again = this.boxes.children[focused];
    if (again instanceof HTMLElement) {
      again.focus();
    }
  }
}
