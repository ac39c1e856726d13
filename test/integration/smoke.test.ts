import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { isRecord } from '../../src/shared/guard.ts';
import { workbenchScenarios } from './harness/workbench.ts';

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario('the workbench opens on the workspace folder', async (workbench) => {
  await workbench.openFile('notes.md');
  assert.equal(await workbench.tab('notes.md').count(), 1);
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

test('c3 bench activation activates the extension that was built', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, '..', '..', 'dist', 'cli.js'),
    'bench',
    'activation',
    '--quick',
    '--json',
  ]);
  const report: unknown = JSON.parse(stdout);
  assert.ok(isRecord(report) && Array.isArray(report['figures']));
  assert.ok(
    report['figures'].some(
      (figure: unknown) =>
        isRecord(figure) && figure['name'] === 'loading and activating, median' && Number(figure['value']) > 0,
    ),
  );
});
