/**
 * What works in a folder without runs, in a real VS Code: the extension is there, the guide opens, and so does what
 * another program recorded.
 */

import assert from 'node:assert/strict';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { answerPath } from './pathDialog.ts';
import { c3, transcriptOf } from './team.ts';

const LOGS = join(import.meta.dirname, '..', 'fixtures', 'logs');

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario('what a command line imports into a folder without a store appears by itself', async (workbench) => {
  await workbench.openFile('notes.md');
  assert.equal(await workbench.tab('notes.md').count(), 1);
  const view = await workbench.openView('C3');
  await c3(workbench.folder, 'import', join(LOGS, 'langfuse.json'));
  await workbench.treeItem(view, /langfuse/u).waitFor();
});

scenario('the extension is installed under the name and version of package.json', async (workbench) => {
  const manifest: unknown = JSON.parse(await readFile(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'));
  assert.ok(typeof manifest === 'object' && manifest !== null && 'displayName' in manifest && 'version' in manifest);
  await workbench.runCommand('Extensions: Show Installed Extensions');
  const entry = workbench.page.locator('.extensions-list .extension-list-item', {
    hasText: String(manifest.displayName),
  });
  await entry.waitFor();
  await entry.click();
  const details = workbench.page.locator('.extension-editor');
  await details.locator('.name', { hasText: String(manifest.displayName) }).waitFor();
  await details.getByText(String(manifest.version), { exact: true }).first().waitFor();
});

scenario('a page of the guide opens in the Markdown preview', async (workbench) => {
  const { page } = workbench;
  await workbench.runCommandAndPick('C3: Open guide', 'Replay and credit');
  const preview = page
    .locator('iframe.webview.ready[src*="extensionId=vscode.markdown-language-features"]:visible')
    .contentFrame()
    .locator('iframe#active-frame')
    .contentFrame();
  await preview.getByRole('heading', { name: 'Why a replay is exact' }).waitFor();
  await workbench.screenshot('guide');
});

scenario('the log of another program opens as a transcript, and its messages are not replayed', async (workbench) => {
  const { page, folder } = workbench;
  const path = join(folder, 'trace.json');
  await copyFile(join(LOGS, 'aiSdk.json'), path);
  await workbench.runCommand('C3: Import agent log');
  await answerPath(workbench, 'Import agent log', 'Import', path);
  await page.locator('.quick-input-widget:visible').getByText('Mask keys', { exact: true }).click();
  await eventually('the transcript', async () => (await workbench.tab('How warm is it in Paris?').count()) > 0);
  const transcript = await transcriptOf(workbench, 'How warm is it in Paris?');
  await transcript.getByRole('heading', { name: 'As recorded', exact: true }).waitFor();
  await transcript.getByText('It is 18 degrees in Paris.').first().waitFor();
  await transcript.getByText('Plan: say 18 degrees.').first().waitFor();
  await workbench.screenshot('imported');
  // What goes on from another message is asked for, and nothing starts without it.
  await workbench.runCommand('C3: Replay alternatives');
  const box = page.locator('.monaco-dialog-box');
  await box.getByText('This message was recorded elsewhere').waitFor();
  await box.getByRole('button', { name: 'Choose Team File…' }).waitFor();
  // Without a driver, what the log shows is written for the user to read; that starts nothing either.
  await box.getByRole('button', { name: 'Infer From Log' }).click();
  await box.waitFor({ state: 'hidden' });
  await page.locator('.monaco-editor .view-line', { hasText: /^steps:/u }).waitFor();
  await workbench.screenshot('inferred-team');
  await assert.rejects(c3(folder, 'replay', '1'), /was recorded elsewhere: .* Give --team FILE/u);
});
