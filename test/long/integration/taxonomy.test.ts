/**
 * The failure taxonomy beside other writers of the store, what it keeps over a reload, and the classes of problems
 * among the episodes.
 */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { loadSqlite } from '../../../src/store/files/sqlite.ts';
import { openStoreForWriting, type Label } from '../../../src/store/write/writer.ts';
import { assertFits } from '../../integration/dashboardPanel.ts';
import { openGrid } from '../../integration/episodesPanel.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { caseOf, choose, openTaxonomy, prepare } from '../../integration/taxonomyPanel.ts';
import { assertQuiet, chooseOption, reading, reloadWindow, storeOf } from '../../integration/team.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

function labelsOf(workbench: Workbench): Label[] {
  const run = prepare(workbench);
  return reading(workbench, (store) => store.labelsOfRun(run));
}

scenario('a label waits while another process writes the store, and is saved once that ends', async (workbench) => {
  prepare(workbench);
  const other = openStoreForWriting(storeOf(workbench.folder));
  try {
    const taxonomy = await openTaxonomy(workbench);
    const item = await caseOf(taxonomy, 'Question 4', 'reasoner');
    await item.locator('button.case').click();
    const form = item.getByRole('region', { name: 'Your label' });
    await choose(taxonomy, 'Your label', 'Over-Coupling');
    await form.getByRole('textbox', { name: 'Note' }).fill('seen while it ran');
    await form.getByRole('button', { name: 'Save label' }).click();
    await eventually('the label to stand in line', () =>
      readdirSync(dirname(storeOf(workbench.folder))).some((name) => name.includes('.lock.wait-')),
    );
    assert.equal(labelsOf(workbench).length, 0);
    other.close();
    await form.getByText('Saved.').waitFor();
    const [label] = labelsOf(workbench);
    assert.deepEqual([label?.name, label?.note, label?.author], ['Over-Coupling', 'seen while it ran', 'you']);
    await item.locator('.history').getByText('seen while it ran').waitFor();
  } finally {
    other.close();
  }
});

scenario(
  'thresholds, filters, the unfolded case and an unsaved label come back after the panel was hidden, and after a reload',
  async (workbench) => {
    const taxonomy = await openTaxonomy(workbench);
    await taxonomy.getByRole('spinbutton', { name: 'Misleading: best mean return below' }).fill('0.3');
    await taxonomy.getByText('Counted with misleading < 0.3').waitFor();
    await choose(taxonomy, 'Role', 'reasoner');
    await taxonomy.locator('.cases .role', { hasText: 'actor' }).first().waitFor({ state: 'detached' });
    const item = await caseOf(taxonomy, 'Question 8', 'reasoner');
    await item.locator('button.case').click();
    await item.getByRole('region', { name: 'Your label' }).getByRole('textbox', { name: 'Note' }).fill('begun');
    await item.getByText('Not saved yet.').waitFor();
    const asBefore = async (frame: FrameLocator): Promise<void> => {
      await frame.getByText('Counted with misleading < 0.3').waitFor();
      const again = await caseOf(frame, 'Question 8', 'reasoner');
      await eventually(
        'the note',
        async () => (await again.getByRole('textbox', { name: 'Note' }).inputValue()) === 'begun',
      );
      await eventually(
        'the filter and the threshold',
        async () =>
          (await frame.locator('.cases .role', { hasText: 'actor' }).count()) === 0 &&
          (await frame.getByRole('spinbutton', { name: 'Misleading: best mean return below' }).inputValue()) === '0.3',
      );
    };
    await workbench.openFile('tiny.c3.yaml');
    await workbench.tab('Failure taxonomy').click();
    await asBefore(await workbench.webview('Failure taxonomy'));
    await reloadWindow(workbench);
    const shown = await workbench.webview('Failure taxonomy');
    await asBefore(shown);
    await shown.getByRole('button', { name: "Reset to the paper's values" }).click();
    await shown.getByRole('button', { name: 'All cases' }).click();
  },
);

scenario('buckets that come later are announced and change nothing until they are read', async (workbench) => {
  const taxonomy = await openTaxonomy(workbench);
  const total = taxonomy.locator('table.classes tfoot td').first();
  const before = Number(await total.innerText());
  // Rows that another program adds, past the lock of the window's engine: a case, and a requested replay, which is
  // none.
  const db = new (loadSqlite())(storeOf(workbench.folder));
  for (const origin of ['diagnostic', 'request']) {
    db.exec(
      `INSERT INTO bucket SELECT NULL, run, '${origin}', iteration, instance, event_type, turn, context_key, snapshot, message FROM bucket ORDER BY id LIMIT 1`,
    );
  }
  db.close();
  await taxonomy.getByText('1 new bucket').waitFor();
  assert.equal(await total.innerText(), String(before));
  await taxonomy.getByRole('button', { name: 'Refresh' }).click();
  await eventually('the new total', async () => (await total.innerText()) === String(before + 1));
  await taxonomy.getByText('1 new bucket').waitFor({ state: 'hidden' });
  await taxonomy.getByText('Not counted: 1 requested replay, which is not a case of this run.').waitFor();
  await caseOf(taxonomy, 'no alternative has a return', 'reasoner');
});

scenario('at 200 % zoom no number of a class is cut', async (workbench) => {
  const taxonomy = await openTaxonomy(workbench);
  await workbench.page.setViewportSize({ width: 640, height: 400 });
  await assertFits(taxonomy, 'at 200 % zoom');
  await workbench.page.setViewportSize({ width: 1280, height: 800 });
});

scenario('the engine classifies the problems of a run, which then sort and filter by class', async (workbench) => {
  prepare(workbench);
  const panel = await openGrid(workbench);
  await chooseOption(panel, 'Split', 'Training');
  await eventually('its problems', async () => / of /u.test(await panel.locator('.listed').innerText()));
  const cells = panel.locator('.canvas .cell-class');
  // A column that says nothing yet is not shown.
  await panel.locator('.canvas .cell-question').first().waitFor();
  assert.equal(await cells.count(), 0);
  await panel.getByRole('button', { name: 'Classify', exact: true }).click();
  await panel.getByRole('button', { name: 'Classify', exact: true }).waitFor({ state: 'hidden', timeout: 120_000 });
  await eventually(
    'a class for every problem',
    async () =>
      (await cells.count()) > 0 &&
      (await cells.evaluateAll((all) => all.every((cell) => cell.getAttribute('aria-label') !== 'not classified'))),
  );
  const name = (await cells.first().getAttribute('aria-label')) ?? '';
  await chooseOption(panel, 'Taxonomy class', name, { exact: true });
  await eventually(
    'problems of this class only',
    async () =>
      (await cells.count()) > 0 &&
      (await cells.evaluateAll((all, wanted) => all.every((cell) => cell.getAttribute('aria-label') === wanted), name)),
  );
  assertQuiet(workbench);
});
