/** The run dashboard in a real VS Code: long runs, comparing, reading by keyboard, the way to episodes. */
import { longRunScenarios } from './dashboardRuns.ts';
import { workbenchScenarios } from './harness/workbench.ts';

longRunScenarios(workbenchScenarios(), { steps: 200, themes: [] });
