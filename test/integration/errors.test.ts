/** Failures that say what to do, and do it at a click; a store of an older version that one click brings up to date. */

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { migrateStore, MIGRATIONS } from '../../src/store/tables/migrations.ts';
import { problems } from './configurationEditor.ts';
import { type Workbench, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, storeOf, TINY } from './team.ts';

const AWAY = `${TINY}\n# Not copied yet.\nmodel: models/away\n`;
const BROKEN = 'title: Broken\nppo:\n  epochs: 0\nmethod: magrop\n';

const scenario = workbenchScenarios({ files: { 'away.c3.yaml': AWAY, 'broken.c3.yaml': BROKEN } });

async function atLine(workbench: Workbench, file: string, line: number, column: number): Promise<void> {
  await workbench.tab(file).waitFor();
  await workbench.statusBarItem(`Ln ${line}, Col ${column}`).waitFor();
}

scenario('the runs of an older version are shown after one click', async (workbench) => {
  const path = storeOf(workbench.folder);
  mkdirSync(dirname(path), { recursive: true });
  const old = new Database(path);
  migrateStore(old, path, MIGRATIONS.slice(0, 4));
  old
    .prepare(
      "INSERT INTO run (id, method, seed, title, config, planned_steps, status, created_at) VALUES ('c3-0-old', 'c3', 0, 'Recorded before', '{}', 0, 'cancelled', '2026-01-01T00:00:00.000Z')",
    )
    .run();
  old.close();
  await workbench.runCommand('C3: Refresh');
  const view = await workbench.openView('C3');
  await view.getByText('recorded by an older version').waitFor();
  await workbench.screenshot('older-store');
  await view.getByRole('button', { name: 'Update store' }).click();
  await workbench.treeItem(view, 'Recorded before').waitFor({ timeout: 120_000 });
  await view.getByRole('button', { name: 'Update store' }).waitFor({ state: 'detached' });
  assertQuiet(workbench);
});

scenario(
  'a missing model folder is refused in the words of the Problems panel, and a click opens its line',
  async (workbench) => {
    const sentence = `There is no such folder: ${join(workbench.folder, 'models', 'away')}`;
    await workbench.openFile('away.c3.yaml');
    await (await problems(workbench)).filter({ hasText: sentence }).waitFor();
    await workbench.closeAllEditors();
    await workbench.runCommandAndPick('C3: Start C3 run', 'away.c3.yaml', 'Quick');
    await workbench.notification(`away.c3.yaml, line 9: model: ${sentence}`).waitFor();
    await workbench.screenshot('error-model');
    await workbench.answerNotification(sentence, 'Open line 9');
    await atLine(workbench, 'away.c3.yaml', 9, 1);
    await workbench.closeAllEditors();
  },
);

scenario('a configuration with several problems opens at the first of them', async (workbench) => {
  // The list of what can be started marks it, and goes where it is wrong.
  await workbench.runCommandAndPick('C3: Start C3 run', 'broken.c3.yaml');
  await atLine(workbench, 'broken.c3.yaml', 3, 11);
  const rows = await problems(workbench);
  await rows.filter({ hasText: 'ppo.epochs' }).filter({ hasText: '[Ln 3, ' }).waitFor();
  await workbench.closeAllEditors();
  await workbench.runCommand('View: Toggle Panel Visibility');
  assertQuiet(workbench);
});
