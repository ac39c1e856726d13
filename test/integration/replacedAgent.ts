/** What the scenarios of a replaced agent share. */
import { existsSync } from 'node:fs';
import { eventually, type Workbench } from './harness/workbench.ts';
import { reading, storeOf } from './team.ts';

/** The choice of a model of half the size. */
export const SMALLER = 'The smaller model of the task';

/** The run that is done, other than one of before. */
export function ended(workbench: Workbench, but: readonly string[]): Promise<string> {
  return eventually('the run to end', () =>
    Promise.resolve(
      existsSync(storeOf(workbench.folder))
        ? reading(
            workbench,
            (store) => store.runs(0, 9).find(({ id, status }) => !but.includes(id) && status === 'done')?.id,
          )
        : undefined,
    ),
  );
}
