/** The visible columns of a table: by default those with a value in some row, otherwise the user's choice. */

import { list, object, text, type Guarded } from '../guard.ts';

const names = list(text(300), 500);

/** The user's choices, by the names of columns. */
export const isColumnChoice = object({ shown: names, hidden: names });
export type ColumnChoice = Guarded<typeof isColumnChoice>;

export const NO_CHOICE: ColumnChoice = { shown: [], hidden: [] };

/** Returns true if a column is shown. @param usual true if it is shown by default */
export function isColumnShown({ shown, hidden }: ColumnChoice, name: string, usual: boolean): boolean {
  return shown.includes(name) || (usual && !hidden.includes(name));
}

/** Returns the choice that shows or hides a column. It does not list a column that is as by default. */
export function chooseColumn(choice: ColumnChoice, name: string, shown: boolean, usual: boolean): ColumnChoice {
  const others = (of: readonly string[]): string[] => of.filter((one) => one !== name);
  return {
    shown: [...others(choice.shown), ...(shown && !usual ? [name] : [])],
    hidden: [...others(choice.hidden), ...(!shown && usual ? [name] : [])],
  };
}
