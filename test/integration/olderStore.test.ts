/**
 * A folder whose runs were recorded by an older version: the view says so, and one click brings the store up to date.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { migrate, MIGRATIONS } from '../../src/store/tables/migrations.ts';
import { workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, storeOf } from './team.ts';

const scenario = workbenchScenarios();

scenario('the runs of an older version are shown after one click', async (workbench) => {
  const path = storeOf(workbench.folder);
  mkdirSync(dirname(path), { recursive: true });
  const old = new Database(path);
  migrate(old, path, MIGRATIONS.slice(0, 4));
  old
    .prepare(
      "INSERT INTO run (id, method, seed, title, config, planned_steps, status, created_at) VALUES ('c3-0-old', 'c3', 0, 'Recorded before', '{}', 0, 'cancelled', '2026-01-01T00:00:00.000Z')",
    )
    .run();
  old.close();
  await workbench.runCommand('C3: Refresh');
  const view = await workbench.openView('C3');
  await view.getByText('recorded by an older version').waitFor();
  await workbench.screenshot('older-store', 'dark');
  await view.getByRole('button', { name: 'Update store' }).click();
  await workbench.treeItem(view, 'Recorded before').waitFor({ timeout: 120_000 });
  await view.getByRole('button', { name: 'Update store' }).waitFor({ state: 'detached' });
  assertQuiet(workbench);
});
