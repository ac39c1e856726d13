/** Which columns of a table are shown: those that some row fills, unless its user says otherwise. */
import { list, object, text, type Guarded } from '../guard.ts';

const names = list(text(300), 500);

/** What the user said of columns, by their names. */
export const isColumnChoice = object({ shown: names, hidden: names });
export type ColumnChoice = Guarded<typeof isColumnChoice>;

export const NO_CHOICE: ColumnChoice = { shown: [], hidden: [] };

/** @param usual whether it is shown where nothing is said of it */
export function isColumnShown({ shown, hidden }: ColumnChoice, name: string, usual: boolean): boolean {
  return shown.includes(name) || (usual && !hidden.includes(name));
}

/** The choice in which a column is shown or not; where that is as usual, nothing is said of it. */
export function withColumn(choice: ColumnChoice, name: string, shown: boolean, usual: boolean): ColumnChoice {
  const others = (of: readonly string[]): string[] => of.filter((one) => one !== name);
  return {
    shown: [...others(choice.shown), ...(shown && !usual ? [name] : [])],
    hidden: [...others(choice.hidden), ...(!shown && usual ? [name] : [])],
  };
}
