/**
 * A folder that the user does not trust: what is stored and written can be read, and nothing runs. A store that was
 * made to keep its reader busy is not opened, before the folder is trusted and after.
 */

import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { makeEndless } from '../support/endlessStore.ts';
import { addRun, addTree, problem, LEDGER, RUN } from '../unit/extension/storeFixture.ts';
import { BROKEN, hoverOver, lens, problems } from './configurationEditor.ts';
import { workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, storeOf, unfold } from './team.ts';

const scenario = workbenchScenarios({
  server: { askForTrust: true },
  files: { 'broken.c3.yaml': BROKEN, 'elsewhere.c3.yaml': 'model: models/away\n' },
});

/** Writes a store with one run. @param withTree whether it has a step with a tree */
function writeStore(path: string, withTree: boolean): void {
  const writer = openStoreForWriting(path);
  addRun(writer);
  writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
  if (withTree) {
    addTree(writer, { iteration: 1, problem: problem(1), returns: [[1, 0]] });
  }
  writer.close();
}

/** The entries of the palette that match a text, once one that is always there is shown. */
async function offered(workbench: Workbench, always: string, words: RegExp): Promise<number> {
  await workbench.searchPalette('>C3: ', always);
  const rows = workbench.page.locator('.quick-input-widget .monaco-list-row', { hasText: words });
  const count = await rows.count();
  await workbench.page.keyboard.press('Escape');
  return count;
}

scenario('a folder that is not trusted is asked for no model', async (workbench) => {
  await workbench.statusBarItem('Restricted Mode').waitFor();
  const view = await workbench.openView('C3');
  await view.getByText('Runs require a trusted workspace').waitFor();
  assert.equal(await view.getByRole('button', { name: 'Choose model folder' }).count(), 0);
  assert.equal(await offered(workbench, 'C3: Show log', /C3: Choose model folder/u), 0);
});

scenario(
  'a folder that is not trusted is shown its problems and its hovers, and starts and plans nothing',
  async (workbench) => {
    await workbench.closeAllEditors();
    await workbench.openFile('broken.c3.yaml');
    await lens(workbench, 'Starting and planning require a trusted workspace').waitFor();
    assert.equal(await lens(workbench, /Start this run|Plan memory/u).count(), 0);
    const rows = await problems(workbench);
    await rows.filter({ hasText: 'stepz: unknown key; did you mean steps?' }).waitFor();
    await workbench.openFile('elsewhere.c3.yaml');
    await lens(workbench, 'Starting and planning require a trusted workspace').waitFor();
    await hoverOver(workbench, /^model$/u, /trains the model of this folder/u);
    // What a path names is not looked for on the disk.
    assert.equal(await rows.filter({ hasText: 'There is no such folder' }).count(), 0);
    await workbench.screenshot('configuration-untrusted');
    await workbench.runCommand('View: Toggle Panel Visibility');
  },
);

scenario('an untrusted folder shows its runs, and says why nothing can be run or replayed', async (workbench) => {
  await workbench.closeAllEditors();
  writeStore(storeOf(workbench.folder), true);
  await workbench.runCommand('C3: Refresh');
  const view = await workbench.openView('C3');
  await unfold(workbench.treeItem(view, `Run ${RUN}`));
  await unfold(workbench.treeItem(view, 'Step 1'));
  await workbench.treeItem(view, 'Question 1').click();
  const transcript = await workbench.webview(/^Question 1/u);
  await transcript.getByText('Runs and replays require a trusted workspace').waitFor();
  assert.equal(await transcript.getByRole('button', { name: 'Replay alternatives' }).count(), 0);
  assert.equal(await offered(workbench, 'C3: Open transcript', /C3: (Start|Replay|Inspect|Check)/u), 0);
  assertQuiet(workbench);
});

/** The view, and a panel that reads, say what is wrong with the store; the process of the extension still answers. */
async function saysDamaged(workbench: Workbench, words: string): Promise<void> {
  const view = await workbench.openView('C3');
  await view.getByText(words).or(workbench.page.getByText(words)).first().waitFor();
  await workbench.runCommand('C3: Refresh');
  assert.equal(await workbench.treeItem(view, `Run ${RUN}`).count(), 0);
  await workbench.runCommand('C3: Open run dashboard');
  const dashboard = await workbench.webview('Run dashboard');
  await dashboard.getByText(words).or(workbench.notification(words)).first().waitFor();
}

scenario(
  'an untrusted folder with a store made to keep its reader busy says so, and the editor stays awake; so does the folder once it is trusted',
  async (workbench) => {
    await workbench.closeAllEditors();
    const made = join(workbench.folder, 'made', 'c3.sqlite');
    writeStore(made, false);
    makeEndless(made);
    const place = dirname(storeOf(workbench.folder));
    rmSync(place, { recursive: true, force: true });
    renameSync(dirname(made), place);
    await workbench.runCommand('C3: Refresh');
    await saysDamaged(workbench, 'This folder is not trusted, and its store is damaged');

    await workbench.closeAllEditors();
    await workbench.runCommand('Workspaces: Manage Workspace Trust');
    await workbench.page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click();
    await workbench.statusBarItem('Restricted Mode').waitFor({ state: 'detached' });
    await saysDamaged(workbench, 'is damaged, so it is not opened');
  },
);
