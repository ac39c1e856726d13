/** The report of a run in the colours of all themes, and links that were copied. */

import assert from 'node:assert/strict';
import { eventually, EXTENSION_ID, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { clipboard, exportRun, fillReported, openLink, openReported } from '../../integration/reportedRun.ts';
import { assertQuiet, reading } from '../../integration/team.ts';
import { RUN } from '../../unit/extension/storeFixture.ts';

const scenario = workbenchScenarios();

scenario('an exported page is shown in the colours of each theme', async (workbench) => {
  fillReported(workbench);
  await exportRun(workbench, ['light', 'highContrast', 'dark']);
});

scenario('a copied link opens its message again, and one to a run its dashboard', async (workbench) => {
  const plan = fillReported(workbench);
  const transcript = await openReported(workbench);
  await transcript.getByRole('treeitem', { name: 'reasoner 1 of 2' }).click({ button: 'right' });
  await workbench.chooseFromMenu('Copy link');
  const link = await eventually('the link on the clipboard', async () => {
    const text = await clipboard(workbench);
    return text.includes(`/message/${plan}?`) && text;
  });
  assert.match(
    link,
    new RegExp(`^[a-z-]+://${EXTENSION_ID.replace('.', '\\.')}/message/${plan}\\?run=${RUN}&folder=%2F`, 'u'),
  );
  await transcript.getByRole('tree').press('Home');
  await transcript.getByRole('tree').press('ArrowDown');
  await transcript.getByRole('tree').press('ArrowDown');
  await transcript.getByRole('tree').press('l');
  await eventually(
    'the link to the next message',
    async () => (await clipboard(workbench)).includes(`/message/${plan + 1}?`) || undefined,
  );
  await workbench.closeAllEditors();
  await openLink(workbench, link);
  const opened = await workbench.webview(/^Question 1/u);
  await opened.locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner 1 of 2"]').waitFor();
  await workbench.closeAllEditors();
  const [scheme = ''] = link.split('/message/');
  await openLink(workbench, `${scheme}/run/${RUN}?folder=${encodeURIComponent(workbench.folder)}`);
  await (await workbench.webview('Run dashboard')).getByText(`Run ${RUN}`).first().waitFor({ state: 'attached' });
  await workbench.closeAllEditors();
  const bucket = reading(workbench, (store) => store.message(plan).bucket);
  await openLink(
    workbench,
    `${scheme}/bucket/${String(bucket)}?run=${RUN}&folder=${encodeURIComponent(workbench.folder)}`,
  );
  await (
    await workbench.webview(/^Question 1/u)
  )
    .locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner 1 of 2"]')
    .waitFor();
  assertQuiet(workbench);
});
