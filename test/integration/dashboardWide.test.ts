/** The run dashboard in a real VS Code: other axes, one front per task, and room at 1280 pixels. */
import { wideScenarios } from './dashboardWide.ts';
import { workbenchScenarios } from './harness/workbench.ts';

wideScenarios(workbenchScenarios(), []);
