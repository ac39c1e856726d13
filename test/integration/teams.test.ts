/** Teams in rounds, in turns, with a vote and with another model, as the transcript shows them. */
import { workbenchScenarios } from './harness/workbench.ts';
import { teamScenarios } from './teams.ts';

const scenario = workbenchScenarios({
  recording: 'teams',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});

teamScenarios(scenario, {
  shown: ['feedback', 'turns', 'voters', 'policy'],
  replayed: ['policy'],
  verified: ['policy'],
  picture: (workbench, name) => workbench.screenshot(name),
});
