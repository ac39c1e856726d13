/**
 * Reports of messages, and links to them, in the editor: by mouse, by keyboard, and by addresses that somebody else
 * made.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findingReport, reportJson, reportPage } from '../../../src/report/report.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { pathField } from '../../integration/pathDialog.ts';
import { clipboard, fillReported, openLink, openReported } from '../../integration/reportedRun.ts';
import { saveAs } from '../../integration/saveReport.ts';
import { assertQuiet, choose, reading } from '../../integration/team.ts';
import { RUN } from '../../unit/extension/storeFixture.ts';

const scenario = workbenchScenarios();

scenario(
  'a message is exported from the transcript by keyboard and by its context menu, as data and as a page, with its text as text',
  async (workbench) => {
    const plan = fillReported(workbench);
    const transcript = await openReported(workbench);
    const tree = transcript.getByRole('tree');
    await tree.press('Home');
    await tree.press('ArrowDown');
    await tree.press('e');
    const data = await saveAs(workbench, `message-${plan}.html`, 'message.json');
    assert.equal(
      readFileSync(data, 'utf8'),
      reading(workbench, (store) => reportJson(findingReport(store, plan))),
    );
    await workbench.runCommand('Notifications: Clear All Notifications');
    await transcript.getByRole('treeitem', { name: 'reasoner 1 of 2' }).click({ button: 'right' });
    await workbench.chooseFromMenu('Export report');
    const page = await saveAs(workbench, `message-${plan}.html`, 'message.html');
    assert.equal(
      readFileSync(page, 'utf8'),
      reading(workbench, (store) => reportPage(findingReport(store, plan))),
    );
    await workbench.answerNotification('The report was saved as message.html', 'Open');
    const shown = await workbench.webview('Report message.html');
    await shown.getByText('<script>document.title = 1</script> [x](command:c3.startRun)').first().waitFor();
    assert.equal(await shown.locator('script').count(), 0);
    assertQuiet(workbench);
  },
);

scenario('the palette asks of what, and a dialog that is left writes nothing', async (workbench) => {
  const transcript = await openReported(workbench);
  await choose(transcript, 'reasoner');
  await eventually(
    'the question of what',
    async () => {
      await workbench.runCommand('C3: Export report');
      await workbench.pick('The whole run', 5_000);
      return true;
    },
    120_000,
  );
  const proposed = join(workbench.folder, `run-${RUN}.html`);
  const field = await pathField(workbench, 'Export report', proposed);
  await field.press('Escape');
  await field.waitFor({ state: 'hidden' });
  assert.equal(existsSync(proposed), false);
});

scenario(
  'a link that is hostile, stale or of another folder says so in one sentence and opens nothing',
  async (workbench) => {
    const plan = fillReported(workbench);
    await workbench.closeAllEditors();
    // With no transcript to look at, it is about the only run.
    await workbench.runCommand('C3: Copy link');
    const link = await eventually('the link on the clipboard', async () => {
      const text = await clipboard(workbench);
      return text.includes('/run/') ? text : undefined;
    });
    const [scheme = ''] = link.split('/run/');
    const folder = `folder=${encodeURIComponent(workbench.folder)}`;
    for (const [name, address, sentence] of [
      [
        'another folder',
        `/message/${plan}?run=${RUN}&folder=%2Fhome%2Fother%5Bx%5D(command%3Ac3.startRun)`,
        /points to another folder, \/home\/other·x··command:c3\.startRun·: open that folder first/u,
      ],
      [
        'a run that is gone',
        `/run/gone?${folder}`,
        /The run that this link points to is not in the store of this folder/u,
      ],
      [
        'a message of another store',
        `/message/${plan}?run=gone&${folder}`,
        /The message that this link points to is not in the store/u,
      ],
      ['a number that is none', `/message/1e9?run=${RUN}&${folder}`, /not a link that C3 made/u],
      ['a command', `/command/c3.startRun?${folder}`, /not a link that C3 made/u],
      ['a path upwards', `/message/..%2F..%2Fetc%2Fpasswd?run=${RUN}&${folder}`, /not a link that C3 made/u],
    ] as const) {
      await openLink(workbench, `${scheme}${address}`);
      const said = workbench.notification(sentence);
      await said.waitFor();
      assert.equal(await said.getByRole('link').count(), 0, `${name}: no link in the notification`);
      assert.equal(
        await said
          .getByRole('button', { name: /^(?!Clear|Collapse|Expand|More|Source)/u })
          .filter({ hasText: /\S/u })
          .count(),
        0,
        `${name}: nothing to press`,
      );
      assert.equal(
        await workbench.page.locator('.tabs-container [role="tab"]').count(),
        0,
        `${name}: nothing was opened`,
      );
      await workbench.runCommand('Notifications: Clear All Notifications');
    }
    assertQuiet(workbench);
  },
);
