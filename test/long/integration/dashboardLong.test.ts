/** The run dashboard with runs of 2,000 steps, and its pictures in all themes. */
import { longRunScenarios } from '../../integration/dashboardRuns.ts';
import { workbenchScenarios } from '../../integration/harness/workbench.ts';

longRunScenarios(workbenchScenarios(), { steps: 2000, themes: ['light', 'highContrast', 'dark'] });
