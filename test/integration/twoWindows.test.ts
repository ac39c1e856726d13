/** Two windows and the command line see one store and one engine. */
import { workbenchScenarios } from './harness/workbench.ts';
import { SHORT_REPLAYS, takeTurns } from './turns.ts';

const scenario = workbenchScenarios(SHORT_REPLAYS);

scenario(
  'two idle windows do not hold up a run of the command line, and replays asked for in turn by both all come',
  async (workbench) => {
    await takeTurns(workbench, await workbench.openSecondWindow(), 1, ['steps=0', 'evaluation.instances=2']);
  },
);
