/** axe-core on the transcript and the dashboard, filled and used, in one theme: nothing serious or critical. */
import { workbenchScenarios } from './harness/workbench.ts';
import { auditScenarios } from './panelAudits.ts';

auditScenarios(workbenchScenarios({ recording: 'arithmetic' }), { themes: [], widths: [1400], allStates: false });
