/** R six times: one credit in every place, and it converges. */

import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { replayedAgain } from '../../integration/oneCredit.ts';

const scenario = workbenchScenarios({
  recording: 'arithmeticPaired',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});

scenario(
  'R six times: one credit in row, pane, list, buckets view, taxonomy, report and on the command line, and it converges',
  (workbench) => replayedAgain(workbench, { presses: 6, further: true }),
);
