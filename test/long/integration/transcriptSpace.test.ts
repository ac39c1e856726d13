/**
 * Where the keyboard is when a transcript opens, how many messages are in sight where space is short, and what is
 * folded away.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { openStoreForWriting } from '../../../src/store/write/writer.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import {
  assertQuiet,
  choose,
  chooseOption,
  firstPlan,
  frameOf,
  hasFocus,
  openFromEpisodes,
  reading,
  storeOf,
  transcriptOf,
} from '../../integration/team.ts';
import { addRun, addTree, problem } from '../../unit/extension/storeFixture.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });
const ARTIFACTS = join(import.meta.dirname, '..', '..', 'artifacts', 'screenshots');
const ROW = '[role="treeitem"]';
const WIDE = { width: 1400, height: 900 };

/** Messages of a made transcript: more than any window shows. */
const PLANS = 12;

async function prepare(workbench: Workbench): Promise<{ readonly question: string; readonly message: number }> {
  const first = await firstPlan(workbench);
  if (reading(workbench, (store) => store.runs(0, 10).length) === 1) {
    const writer = openStoreForWriting(storeOf(workbench.folder));
    addRun(writer, 'long', '2020-01-01T00:00:00.000Z');
    const ledger = { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {}, seconds: 0 };
    writer.insertStep({ run: 'long', iteration: 1, snapshot: 'a'.repeat(64), ledger });
    const returns = Array.from({ length: PLANS }, (_, plan) => [plan % 2, 1, 0, 1]);
    addTree(writer, { run: 'long', iteration: 1, problem: problem(7), returns });
    writer.close();
  }
  return first;
}

/** Rows that are wholly in sight, counted in the panel's page, and the pixels between its upper edge and the tree. */
async function sight(
  transcript: FrameLocator,
): Promise<{ readonly rows: number; readonly above: number; readonly height: number }> {
  return (await frameOf(transcript)).evaluate(() => {
    const tree = document.querySelector('[role="tree"]')?.getBoundingClientRect();
    if (tree === undefined) {
      return { rows: 0, above: 0, height: 0 };
    }
    const end = Math.min(tree.bottom, innerHeight);
    const rows = [...document.querySelectorAll('.row:not([aria-busy])')].map((row) => row.getBoundingClientRect());
    return {
      rows: rows.filter(({ top, bottom }) => top >= tree.top - 1 && bottom <= end + 1).length,
      above: tree.top,
      height: innerHeight,
    };
  });
}

async function picture(workbench: Workbench, name: string): Promise<void> {
  await workbench.page.screenshot({ path: join(ARTIFACTS, `${name}.png`), animations: 'disabled' });
}

const tokens = (workbench: Workbench): Promise<unknown> =>
  eventually('rows of tokens', async () => {
    const editor = workbench.page.locator('.editor-instance .monaco-editor .view-lines');
    return /^ *0 +\d+ +([0-9a-f]{2} )+ *│.*│/mu.test((await editor.first().innerText()).replaceAll('\u00a0', ' '));
  });

scenario('T and R work as soon as a transcript opens, and again when it is shown again', async (workbench) => {
  const { question } = await prepare(workbench);
  const transcript = await transcriptOf(workbench, question);
  await transcript.locator(`${ROW}[aria-selected="true"]`).waitFor();
  const tree = transcript.getByRole('tree');
  await eventually('the keyboard in the tree', () => hasFocus(tree));
  await workbench.page.keyboard.press('t');
  await tokens(workbench);
  await workbench.closeEditor();
  const again = await transcriptOf(workbench, question);
  await eventually('the keyboard in the tree again', () => hasFocus(again.getByRole('tree')));
  await workbench.page.keyboard.press('r');
  const replayed = again.getByRole('region', { name: 'Replayed alternatives' });
  await replayed.first().waitFor();
  await again.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 120_000 });
  // From the list of episodes, while a field of the panel has the keyboard.
  await again.getByRole('searchbox', { name: 'Search messages' }).focus();
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, question.slice(0, 30)).click();
  await eventually('the keyboard back in the tree', () => hasFocus(again.getByRole('tree')));
});

scenario(
  'the tree takes the keyboard also where the editor gave it to the frame around the page only',
  async (workbench) => {
    const { question } = await prepare(workbench);
    const transcript = await transcriptOf(workbench, question);
    const tree = transcript.getByRole('tree');
    await transcript.locator(`${ROW}[aria-selected="true"]`).waitFor();
    await eventually('the keyboard in the tree', () => hasFocus(tree));
    const page = await frameOf(transcript);
    const around = page.parentFrame();
    assert.ok(around);
    // At times the editor gives the keyboard to the outer frame of a webview, and no further.
    await around.evaluate(() => {
      const held = document.activeElement;
      if (held instanceof HTMLElement) {
        held.blur();
      }
      window.focus();
    });
    assert.equal(await page.evaluate(() => document.hasFocus()), false);
    await page.evaluate(() => window.postMessage({ type: 'focus' }));
    await eventually('the keyboard in the tree again', () => page.evaluate(() => document.hasFocus()), 10_000);
    assert.ok(await hasFocus(tree));
  },
);

scenario('keys and hashes are under Details, which stays open from message to message', async (workbench) => {
  const { question, message } = await prepare(workbench);
  const key = reading(workbench, (store) => store.message(message).contextKey);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'actor');
  await choose(transcript, 'reasoner');
  assert.equal(await transcript.getByText(key).isVisible(), false);
  assert.doesNotMatch(await transcript.locator('.detail').innerText(), /[0-9a-f]{12}|[0-9]{15}/u);
  await transcript.getByText('Details', { exact: true }).click();
  await transcript.getByText(key).waitFor();
  const said = reading(workbench, (store) => store.fullMessage(message));
  for (const value of [said.streamKey, said.tokenHash, said.snapshot, String(message)]) {
    await transcript.locator('.keys-and-hashes code').getByText(value, { exact: true }).first().waitFor();
  }
  await choose(transcript, 'actor');
  await transcript.getByText('Context key').waitFor();
  await transcript.getByText('Details', { exact: true }).click();
  await transcript.getByText('Context key').waitFor({ state: 'hidden' });
});

scenario(
  'where space is short one line is above the tree: ten rows at 1280x800 with a panel open, four at 200 % zoom',
  async (workbench) => {
    await prepare(workbench);
    await workbench.runCommand('C3: Refresh');
    await openFromEpisodes(workbench, 'Question 7', 'Run long');
    const transcript = await workbench.webview(/^Question 7/u);
    await transcript.locator(`${ROW}[aria-label^="reasoner"]`).first().waitFor();
    const tree = transcript.getByRole('tree');
    await tree.press('Home');
    const look = async (name: string, least: number): Promise<void> => {
      const seen = await eventually(`${least} rows in sight, ${name}`, async () => {
        const now = await sight(transcript);
        return now.rows >= least ? now : undefined;
      }).catch(async () => sight(transcript));
      await picture(workbench, `space-${name}`);
      console.log(`${name}: ${seen.rows} rows below ${seen.above} of ${seen.height} pixels`);
      assert.ok(seen.rows >= least, `${name}: ${seen.rows} rows`);
    };
    try {
      await workbench.page.setViewportSize({ width: 1920, height: 1080 });
      await look('1920', 20);
      await workbench.page.setViewportSize({ width: 1280, height: 800 });
      await look('1280', 20);
      // As many pixels of the page as 1280x800 has at 200 %.
      await workbench.page.setViewportSize({ width: 640, height: 400 });
      await look('zoom', 4);
      await workbench.page.setViewportSize({ width: 1280, height: 800 });
      await workbench.runCommand('View: Toggle Output');
      await workbench.page.locator('.part.panel').waitFor();
      await look('1280-panel', 10);
      await eventually('one line above the tree', async () => (await sight(transcript)).above <= 31);
      // Nothing is lost: filters and the map of the protocol open from the line, the first by its key.
      await tree.press('f');
      const role = transcript.getByRole('combobox', { name: 'Role' });
      await eventually('the keyboard in the filters', () => hasFocus(role));
      await picture(workbench, 'space-filters');
      // A plan has answers of both returns.
      await chooseOption(transcript, 'Return', 'Won in part', { exact: true });
      await transcript.getByRole('button', { name: 'Filters (1)' }).waitFor();
      await transcript.getByText(`${PLANS} of ${5 * PLANS} messages`).waitFor();
      await role.press('Escape');
      await role.waitFor({ state: 'hidden' });
      await eventually('the keyboard in the tree', () => hasFocus(tree));
      await transcript.getByRole('button', { name: 'Filters (1)' }).click();
      await transcript.getByRole('button', { name: 'Clear filters' }).click();
      await transcript.getByRole('button', { name: 'Filters', exact: true }).waitFor();
      await workbench.page.keyboard.press('Escape');
      await eventually('the keyboard out of the drawer', async () => !(await role.isVisible()));
    } finally {
      await workbench.page.setViewportSize(WIDE);
      await workbench.runCommand('View: Hide Panel');
    }
    assertQuiet(workbench);
  },
);
