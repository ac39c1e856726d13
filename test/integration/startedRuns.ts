/** What the tests of runs that are started from the window share. */

import type { Workbench } from './harness/workbench.ts';
import { TINY } from './team.ts';

/** A short run; it leaves a core to the window. */
export const ALONE = `${TINY}device: { threads: 1 }\n`;
/** Milliseconds in which a run starts, or ends, on a machine that does something else too. */
export const ENDED = 180_000;

/** Starts a configuration by its name in the palette. */
export async function start(workbench: Workbench, config: string): Promise<void> {
  await workbench.runCommandAndPick('C3: Start C3 run', config, 'Default length');
}
