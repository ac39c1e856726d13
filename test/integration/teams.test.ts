/** Teams in rounds and with a vote, as the transcript shows them. */
import { workbenchScenarios } from './harness/workbench.ts';
import { teamScenarios } from './teams.ts';

const scenario = workbenchScenarios({ recording: 'twoTeams' });

teamScenarios(scenario, {
  shown: ['feedback', 'voters'],
  replayed: false,
  picture: (workbench, name) => workbench.screenshot(name),
});
