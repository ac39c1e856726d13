/** A failure that names the setting that is to be changed, and opens it at a click. */

import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertQuiet } from '../../integration/team.ts';

/** Even root makes no folder there, as in a folder that is read-only for its user. */
const READ_ONLY = '/sys/c3/c3.sqlite';

const scenario = workbenchScenarios();

scenario('a read-only place for runs names its setting, and a click opens it', async (workbench) => {
  await workbench.changeSettings({ 'c3.store.path': READ_ONLY });
  await workbench.runCommandAndPick('C3: Start C3 run', 'Bundled team', 'Quick');
  const said = workbench.notification(`The store ${READ_ONLY} or its folder is read-only`);
  await said.waitFor({ timeout: 120_000 });
  assert.match(await said.innerText(), /the setting c3\.store\.path/u);
  await workbench.answerNotification('is read-only', 'Open setting c3.store.path');
  const setting = workbench.page.locator('.settings-editor .setting-item').filter({ hasText: 'Where runs are stored' });
  await setting.waitFor();
  await eventually('the setting', async () => (await setting.locator('input').inputValue()) === READ_ONLY);
  await workbench.screenshot('error-setting');
  assertQuiet(workbench);
});
