/**
 * The episodes panel: a run's problems by mouse and by keyboard, while the run grows, and as text whatever they say.
 */

import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { openStoreForWriting, type StoreWriter } from '../../src/store/write/writer.ts';
import { addMessage, addRun, addTree, problem, LEDGER, METRICS, RUN } from '../unit/extension/storeFixture.ts';
import { heading, listed, openEpisodesOf, openGrid, row, selected, withEpisodes } from './episodesPanel.ts';
import { fillEpisodes } from './episodesStore.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, chosenValue, frameOf, hasFocus, storeOf } from './team.ts';

const scenario = workbenchScenarios();

/** The run makes another step, with a new problem. */
function grow(workbench: Workbench, iteration: number, number: number): void {
  const writer = openStoreForWriting(storeOf(workbench.folder));
  writer.insertStep({ run: RUN, iteration, snapshot: 'a'.repeat(64), ledger: LEDGER });
  addTree(writer, { iteration, problem: { ...problem(number), question: 'A new problem' }, returns: [[1, 0]] });
  writer.finishStep(RUN, iteration, METRICS, LEDGER);
  writer.close();
}

scenario('a click on a run opens its episodes and keeps its steps open in the list', async (workbench) => {
  await withEpisodes(workbench, fillEpisodes);
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, `Run ${RUN}`).click();
  const panel = await workbench.webview('Episodes');
  await listed(panel, '40 problems');
  await workbench.treeItem(view, 'Step 1').waitFor();
  // The clearest are first: what is decided, by its amount for the width of its interval, whatever its sign.
  await eventually('the clearest problem first', async () =>
    /hurt/u.test((await row(panel, 1).locator('.cell-credit').getAttribute('aria-label')) ?? ''),
  );
  assert.match(
    (await row(panel, 1).locator('.cell-credit').getAttribute('aria-label')) ?? '',
    /^reasoner, credit −0\.94 \[−1\.00, −0\.64\], n = 4, hurt: plan 1 of 0$/u,
  );
  assert.match(
    (await row(panel, 1).locator('.cell-outcome').getAttribute('aria-label')) ?? '',
    /^Step 1: 0\.50 \(4\)\nStep 2: 0\.25 \(4\)\nStep 3: 0\.50 \(4\)$/u,
  );
  await workbench.screenshot('episodes');
});

scenario(
  'by keyboard alone: rows, pages, the whole question, the heads, and the transcript at the clearest message',
  async (workbench) => {
    const panel = await openGrid(workbench);
    const { page } = workbench;
    const grid = panel.getByRole('grid', { name: 'Problems of the run' });
    await grid.focus();
    await page.keyboard.press('Home');
    await eventually('the first row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '2');
    await page.keyboard.press('ArrowDown');
    await eventually('the second row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '3');
    await page.keyboard.press('End');
    await eventually('the last row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '41');
    assert.equal(await grid.getAttribute('aria-activedescendant'), await selected(panel).getAttribute('id'));
    await page.keyboard.press('PageUp');
    await page.keyboard.press('Home');
    await eventually('the whole question below', async () =>
      (await panel.getByLabel('The whole question').innerText()).endsWith('how many are there?'),
    );
    // To the heads, two to the left of the one that is sorted by, and back.
    await page.keyboard.press('s');
    await eventually('the head that is sorted by', () => hasFocus(heading(panel, 'Clearest credit')));
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await panel
      .getByRole('columnheader', { name: 'Return', exact: true, includeHidden: false })
      .and(panel.locator('[aria-sort="ascending"]'))
      .waitFor();
    await page.keyboard.press('Escape');
    await eventually('the keyboard in the grid', () => hasFocus(grid));
    await page.keyboard.press('?');
    await panel.getByRole('dialog', { name: 'Keys of the grid' }).waitFor();
    await page.keyboard.press('Escape');
    await heading(panel, 'Clearest credit').click();
    await eventually(
      'the clearest first',
      async () =>
        (await row(panel, 1).locator('.cell-credit').getAttribute('aria-label'))?.includes('plan 1 of 0') ?? false,
    );
    await grid.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    const transcript = await workbench.webview(/^Problem 0/u);
    await transcript.locator('[role="treeitem"][aria-selected="true"][aria-label^="reasoner 2 of 2"]').waitFor();
  },
);

scenario('a question is text whatever it says', async (workbench) => {
  const panel = await openGrid(workbench);
  await panel.getByRole('searchbox').fill('canary');
  await listed(panel, '1 of 40 problems');
  const question = row(panel, 1).locator('.cell-question');
  assert.ok((await question.textContent())?.includes('<img src="https://c3-canary.invalid'));
  assert.ok((await question.textContent())?.includes('⟨U+202E⟩esrever⟨U+202C⟩'));
  await row(panel, 1).click();
  await eventually(
    'the whole question',
    async () => (await panel.getByLabel('The whole question').textContent())?.includes('onerror') ?? false,
  );
  const frame = await frameOf(panel);
  assert.equal(await frame.evaluate('globalThis.c3Canary'), undefined);
  assert.equal(await frame.evaluate('document.querySelectorAll("#app :is(img, script, a[href], iframe)").length'), 0);
  await panel.getByRole('button', { name: 'Clear', exact: true }).click();
  await listed(panel, '40 problems');
  assertQuiet(workbench);
});

scenario('a growing run updates the rows and leaves the reader where he is', async (workbench) => {
  const panel = await openGrid(workbench);
  await heading(panel, '#').click();
  await panel.locator('[role="columnheader"][aria-sort="ascending"].cell-appearance').waitFor();
  const grid = panel.getByRole('grid');
  await grid.focus();
  await workbench.page.keyboard.press('End');
  await eventually('the last row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '41');
  const before = await selected(panel).locator('.cell-question').getAttribute('aria-label');
  const top = await grid.evaluate((element) => element.scrollTop);
  grow(workbench, 4, 77);
  await listed(panel, '41 problems');
  await eventually('the reader where he was', async () => {
    assert.equal(await selected(panel).locator('.cell-question').getAttribute('aria-label'), before);
    assert.equal(await grid.evaluate((element) => element.scrollTop), top);
    return true;
  });
  await heading(panel, 'Clearest credit').click();
});

scenario(
  'a filter by keyboard: Escape takes the choice back, letters and Tab choose; its list stays open in a growing run',
  async (workbench) => {
    const panel = await openGrid(workbench);
    const { keyboard } = workbench.page;
    const outcome = panel.getByRole('combobox', { name: 'Outcome' });
    const open = (list: Locator, wanted: boolean): Promise<boolean> =>
      eventually(
        wanted ? 'the open list' : 'the closed list',
        async () => (await list.getAttribute('aria-expanded')) === String(wanted),
      );
    const reached = (list: Locator, name: string): Promise<void> =>
      list.locator('[role="option"][aria-selected="true"]').getByText(name, { exact: true }).waitFor();
    await panel.getByRole('grid').press('f');
    await eventually('the keyboard in the filters', () => hasFocus(outcome));
    await keyboard.press('Enter');
    await open(outcome, true);
    await keyboard.press('ArrowDown');
    await reached(outcome, 'Lost');
    await keyboard.press('Escape');
    await open(outcome, false);
    assert.equal(await chosenValue(panel, 'Outcome'), 'all');
    assert.ok(await hasFocus(outcome));
    await listed(panel, '41 problems');
    // Closed, a letter chooses at once; a key without a meaning does not ask again.
    await keyboard.press('w');
    await panel.locator('.listed', { hasText: ' of 41 problems' }).waitFor();
    assert.equal(await chosenValue(panel, 'Outcome'), 'between');
    await keyboard.press('Enter');
    await open(outcome, true);
    await keyboard.press('Home');
    await reached(outcome, 'Any outcome');
    await keyboard.press('Tab');
    await open(outcome, false);
    await listed(panel, '41 problems');
    const split = panel.getByRole('combobox', { name: 'Split' });
    await split.click();
    await open(split, true);
    await keyboard.press('ArrowDown');
    await reached(split, 'Training (31)');
    await workbench.screenshot('episodes-filter');
    grow(workbench, 5, 78);
    await listed(panel, '42 problems');
    await reached(split, 'Training (31)');
    await keyboard.press('Escape');
    await split.locator('[role="option"]', { hasText: 'Both splits (42)' }).waitFor({ state: 'attached' });
    assert.equal(await chosenValue(panel, 'Split'), 'all');
    await split.press('Escape');
    await eventually('the keyboard in the grid', () => hasFocus(panel.getByRole('grid')));
  },
);

scenario('a command that needs an episode opens the panel and says what to do', async (workbench) => {
  await workbench.closeAllEditors();
  await workbench.runCommand('C3: Open transcript');
  const panel = await workbench.webview('Episodes');
  await panel.getByText('Choose a problem: Enter opens its transcript at the clearest message.').waitFor();
  await eventually('the keyboard in the grid', () => hasFocus(panel.getByRole('grid')));
  await workbench.runCommand('C3: Replay alternatives');
  await panel.getByText('press R on the message to replay in its transcript').waitFor();
});

scenario(
  'an episode without a score is scored, tagged and noted from its menu, and the score taken back',
  async (workbench) => {
    await withEpisodes(workbench, addRecorded);
    const panel = await openEpisodesOf(workbench, 'Run recorded-1', '1 problem');
    const of = (column: string): Locator => row(panel, 1).locator(`.cell-${column}`);
    const says = (column: string, words: string): Promise<unknown> =>
      eventually(
        `${column}: ${words}`,
        async () => (await of(column).getAttribute('aria-label'))?.includes(words) ?? false,
      );

    await workbench.chooseOnceOffered(of('question'), 'Score episode');
    await workbench.answer('2');
    await workbench.page.getByText('A score of this run is a number from 0 to 1.').waitFor();
    await workbench.answer('0');
    await says('byHand', 'scored by hand: 0, the return');
    await says('outcome', 'scored by hand');
    await workbench.chooseOnceOffered(of('question'), "Edit episode's tags");
    await workbench.answer('odd, late');
    await says('tags', 'odd, late');
    await panel.getByRole('searchbox').fill('tag:early');
    await listed(panel, '0 of 1 problem');
    await panel.getByRole('searchbox').fill('tag:odd');
    await listed(panel, '1 problem');
    await workbench.screenshot('episodes-scored-by-hand');

    await panel.getByRole('grid').focus();
    await workbench.page.keyboard.press('Enter');
    const transcript = await workbench.webview(/^Where to/u);
    const said = transcript.locator('[role="treeitem"][aria-label*="return 0, scored by hand"]');
    await said.last().waitFor();
    await workbench.chooseOnceOffered(said.last(), "Edit episode's note");
    await workbench.answer('It never asked.');
    await transcript.getByText('It never asked.').waitFor();
    await workbench.screenshot('transcript-scored-by-hand');
    await workbench.chooseOnceOffered(said.last(), 'Score episode');
    await workbench.answer('');
    await transcript.locator('[role="treeitem"][aria-label*="return not measured"]').first().waitFor();
    assert.equal(await said.count(), 0);
    assertQuiet(workbench);
  },
);

/** A recorded run with one episode of two messages, which nothing scored. */
function addRecorded(writer: StoreWriter): void {
  const asked = { ...problem(400), question: 'Where to?' };
  const place = { run: 'recorded-1', phase: 'evaluate', iteration: 2, problem: asked, bucket: null, index: 0 } as const;
  addRun(writer, place.run);
  writer.insertProblems([asked]);
  const first = addMessage(writer, { ...place, role: 'planner', position: 0, parent: null, text: 'North, I think.' });
  addMessage(writer, { ...place, role: 'solver', position: 1, parent: first, text: 'North it is.' });
}
