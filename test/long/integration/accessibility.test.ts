/**
 * axe-core on every panel, filled and used, in dark, light and high contrast, wide and narrow: it finds nothing.
 * Pictures of all of that.
 */

import assert from 'node:assert/strict';
import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { auditScenarios } from './panelAudits.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

auditScenarios(scenario);

scenario('the window has each of the three themes', async (workbench) => {
  const background = (): Promise<string> =>
    workbench.page.locator('.monaco-workbench').evaluate((element) => getComputedStyle(element).backgroundColor);
  const seen = new Set<string>();
  for (const theme of ['light', 'highContrast', 'dark'] as const) {
    await workbench.screenshot('workbench', theme);
    seen.add(await background());
  }
  assert.equal(seen.size, 3);
});
