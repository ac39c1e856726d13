/** Two windows on one store, for many rounds. */

import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { SHORT_REPLAYS, takeTurns } from '../../integration/turns.ts';

const scenario = workbenchScenarios(SHORT_REPLAYS);

scenario(
  'replays asked for in turn by two windows all come, 25 rounds long',
  async (workbench) => await takeTurns(workbench, await workbench.openSecondWindow(), 25),
);
