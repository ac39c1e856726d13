/** The report of a run in the colours of all themes. */
import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { exportRun, fillReported } from '../../integration/reportedRun.ts';

const scenario = workbenchScenarios();

scenario('an exported page is shown in the colours of each theme', async (workbench) => {
  fillReported(workbench);
  await exportRun(workbench, ['light', 'highContrast', 'dark']);
});
