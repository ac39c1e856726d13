/** Comparing, searching, sifting and reading contexts in the transcript panel, by keyboard and by mouse. */
import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, storeOf, transcriptOf, unfold } from './team.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });
const ROW = '[role="treeitem"]';

interface Episode {
  readonly question: string;
  readonly plans: readonly { readonly id: number; readonly text: string; readonly context: string }[];
  /** The answers under the first plan. */
  readonly answers: readonly { readonly text: string }[];
}

/** The first training episode of the recorded run, as the store has it. */
function firstEpisode(workbench: Workbench): Episode {
  const store = openStoreForReading(storeOf(workbench.folder));
  try {
    const run = store.runs(0, 1)[0]?.id ?? '';
    const [episode] = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    assert.ok(episode);
    const { messages } = store.transcript({
      run,
      phase: 'train',
      iteration: 1,
      instance: episode.instance,
      offset: 0,
      limit: 100,
    });
    const plans = messages
      .filter(({ parent }) => parent === null)
      .map(({ id, text }) => ({ id, text, context: store.decision(id).context }));
    return { question: episode.question, plans, answers: messages.filter(({ parent }) => parent === plans[0]?.id) };
  } finally {
    store.close();
  }
}

async function open(workbench: Workbench): Promise<{ readonly transcript: FrameLocator; readonly episode: Episode }> {
  const episode = firstEpisode(workbench);
  const transcript = await transcriptOf(workbench, episode.question);
  await transcript.locator(`${ROW}[aria-label^="actor 1 of 2"]`).first().waitFor();
  return { transcript, episode };
}

scenario(
  'two answers are compared by C on one and C on the other: where they part, and in the diff editor',
  async (workbench) => {
    const { transcript, episode } = await open(workbench);
    const [first, second] = episode.answers;
    assert.ok(first && second);
    const tree = transcript.getByRole('tree');
    await tree.press('Home');
    await tree.press('ArrowDown');
    await tree.press('ArrowDown');
    await tree.press('c');
    await transcript.locator(`${ROW}.compared`).getByText('to compare', { exact: true }).waitFor();
    await transcript.locator(`${ROW}[aria-label^="actor 2 of 2"]`).first().click();
    await tree.press('c');
    const comparison = transcript.getByRole('region', { name: 'Comparison' });
    await comparison.waitFor();
    // The mark is gone.
    await transcript.locator(`${ROW}.compared`).waitFor({ state: 'detached' });
    const same = first.text === second.text;
    let at = 0;
    while (!same && first.text[at] === second.text[at] && at < first.text.length) {
      at++;
    }
    if (!same) {
      await comparison
        .locator('.comparison-head')
        .getByText(`They diverge in message 2 (actor), at character ${String(at + 1)}.`)
        .waitFor();
    }
    await workbench.screenshot('comparison');
    await tree.press('d');
    const diff = workbench.page.locator('.monaco-diff-editor');
    await diff.waitFor();
    const shown = async (side: 'original' | 'modified', text: string): Promise<boolean> =>
      (await diff.locator(`.editor.${side} .view-lines`).innerText())
        .replaceAll('\u00a0', ' ')
        .includes(text.split('\n')[0] ?? '');
    await eventually(
      'both answers in the diff editor',
      async () => (await shown('original', first.text)) && (await shown('modified', second.text)),
    );
    await workbench.screenshot('comparison-diff');
    await workbench.closeEditor();
    // D means what was asked for last, whatever is still drawn.
    const again = await transcriptOf(workbench, episode.question);
    await again.getByRole('region', { name: 'Comparison' }).waitFor();
    await again.locator(`${ROW}[aria-label^="actor 2 of 2"]`).first().click();
    for (const key of ['c', 'Home', 'ArrowDown', 'ArrowDown', 'c', 'd']) {
      await workbench.page.keyboard.press(key);
    }
    await diff.waitFor();
    await eventually(
      'the newer comparison in the diff editor',
      async () => (await shown('original', second.text)) && (await shown('modified', first.text)),
    );
    await workbench.closeEditor();
    const closed = await transcriptOf(workbench, episode.question);
    await closed.getByRole('region', { name: 'Comparison' }).getByRole('button', { name: 'Close' }).click();
    await closed.getByRole('tree').press('d');
    await closed.getByRole('tree').press('c');
    await closed.locator(`${ROW}.compared`).waitFor();
    await closed.getByRole('tree').press('c');
    assert.equal(await diff.count(), 0, 'what was closed is not compared any more');
    assertQuiet(workbench);
  },
);

scenario('episodes are compared from the side bar by their context menus', async (workbench) => {
  const episode = firstEpisode(workbench);
  const view = await workbench.openView('C3');
  await unfold(workbench.treeItem(view, 'Tiny'));
  await unfold(workbench.treeItem(view, 'Step 1'));
  const rows = view.getByRole('treeitem').filter({ hasText: episode.question.slice(0, 30) });
  await rows.nth(0).click({ button: 'right' });
  await workbench.chooseFromMenu('Select to compare');
  await workbench.chooseOnceOffered(rows.nth(1), 'Compare with the selected branch');
  await workbench.page.locator('.monaco-diff-editor').waitFor();
  await workbench.closeEditor();
});

scenario('the context of a message is in an editor token by token', async (workbench) => {
  const { transcript, episode } = await open(workbench);
  await transcript.locator(`${ROW}[aria-label^="reasoner 1 of 2"]`).first().click();
  await transcript.getByRole('tree').press('t');
  const editor = workbench.page.locator('.editor-instance .monaco-editor .view-lines');
  await eventually('rows of tokens', async () =>
    /^ *0 +\d+ +([0-9a-f]{2} )+ *│.*│/mu.test((await editor.first().innerText()).replaceAll('\u00a0', ' ')),
  );
  const words = (await editor.first().innerText()).replaceAll('\u00a0', ' ');
  assert.ok(words.includes(`${String(Buffer.byteLength(episode.plans[0]?.context ?? ''))} bytes`), words.slice(0, 300));
  assert.ok(!words.includes('has changed') && !words.includes('do not join'), words.slice(0, 600));
  await workbench.screenshot('context-tokens');
  await workbench.closeEditor();
});

scenario('words are searched from the keyboard, counted and stepped through', async (workbench) => {
  const { transcript } = await open(workbench);
  const tree = transcript.getByRole('tree');
  await tree.press('Home');
  await tree.press('/');
  const field = transcript.getByRole('searchbox', { name: 'Search messages' });
  await eventually('the keyboard in the field', () =>
    field.evaluate((element) => element === element.ownerDocument.activeElement),
  );
  // Every answer of the bundled actor ends with # and the number; digits are in all of them.
  const word =
    (await transcript.locator(`${ROW}[aria-label^="actor 1 of 2"] .row-text`).first().innerText()).match(
      /[\p{L}\p{N}]+/u,
    )?.[0] ?? '';
  // As one event: a pause between letters would ask for a part of the word.
  await workbench.page.keyboard.insertText(word);
  const hits = transcript.locator('.hits');
  await eventually('the first hit', async () => /^1 \/ \d+/u.test(await hits.innerText()));
  await transcript.locator(`${ROW} mark`).first().waitFor();
  const total = Number(/\/ (\d+)/u.exec(await hits.innerText())?.[1]);
  assert.ok(total >= 1);
  await field.press('Enter');
  await eventually('the second hit', async () => (await hits.innerText()).startsWith(total === 1 ? '1 / 1' : '2 / '));
  await field.press('Shift+Enter');
  await eventually('the first hit again', async () => (await hits.innerText()).startsWith('1 / '));
  await field.press('ArrowDown');
  await eventually('the keyboard in the tree', () =>
    tree.evaluate((element) => element === element.ownerDocument.activeElement),
  );
  // From the tree by keys of its own, around both ends.
  const at = (hit: number): Promise<unknown> =>
    eventually(
      `hit ${String(hit)}`,
      async () =>
        (await hits.innerText()).startsWith(`${String(hit)} / ${String(total)}`) &&
        (await transcript.locator(`${ROW}.active[aria-selected="true"] mark`).count()) > 0,
    );
  await tree.press('n');
  await at(total === 1 ? 1 : 2);
  await tree.press('p');
  await at(1);
  await tree.press('p');
  await at(total);
  await tree.press('n');
  await at(1);
  // A step does not wait for the one before.
  for (let step = 0; step < total + 1; step++) {
    await workbench.page.keyboard.press('n');
  }
  await at(total === 1 ? 1 : 2);
  await tree.press('p');
  await at(1);
  assert.ok(
    await tree.evaluate((element) => element === element.ownerDocument.activeElement),
    'the keyboard stays in the tree',
  );
  await workbench.screenshot('search');
  await tree.press('/');
  await field.press('Escape');
  await field.press('Escape');
  await eventually('the keyboard in the tree', () =>
    tree.evaluate((element) => element === element.ownerDocument.activeElement),
  );
  await eventually('no word marked', async () => (await transcript.locator(`${ROW} mark`).count()) === 0);
});

scenario(
  'V verifies the replays of the message that has the keyboard, and its row says what was found',
  async (workbench) => {
    const { transcript } = await open(workbench);
    const tree = transcript.getByRole('tree');
    const plan = transcript.locator(`${ROW}[aria-label^="reasoner 1 of 2"]`).first();
    await tree.press('Home');
    await tree.press('ArrowDown');
    assert.doesNotMatch((await plan.getAttribute('aria-label')) ?? '', /; replay /u);
    await tree.press('v');
    await workbench
      .notification(/^2 replays of this message re-executed: 2 identical, 0 different, 0 not comparable/u)
      .waitFor();
    await transcript
      .locator(
        `${ROW}.active[aria-selected="true"][aria-label^="reasoner 1 of 2"][aria-label*="; replay identical: re-execution gave the same bytes (2 of 2 replays)"]`,
      )
      .waitFor();
    assert.equal(await transcript.locator(`${ROW}[aria-label*="; replay "]`).count(), 1, 'no other row was verified');
  },
);

scenario(
  'F goes to the filters; what was folded is folded still when a filter is cleared, and the keyboard stays at its row',
  async (workbench) => {
    const { transcript } = await open(workbench);
    const tree = transcript.getByRole('tree');
    await tree.press('Home');
    await tree.press('ArrowDown');
    await tree.press('ArrowLeft');
    await transcript.locator(`${ROW}.active[aria-expanded="false"][aria-label^="reasoner 1 of 2"]`).waitFor();
    await tree.press('End');
    await transcript.locator(`${ROW}.active[aria-label^="actor 2 of 2"]`).waitFor();
    await tree.press('f');
    const role = transcript.getByRole('combobox', { name: 'Role' });
    await eventually('the keyboard in the filters', () =>
      role.evaluate((element) => element === element.ownerDocument.activeElement),
    );
    await role.selectOption('reasoner');
    await transcript.getByText('2 of 6 messages').waitFor();
    await transcript.locator(`${ROW}.active[aria-label^="reasoner 2 of 2"]`).waitFor();
    await role.selectOption('');
    await eventually('all but what is folded', async () => (await transcript.getByRole('treeitem').count()) === 5);
    await role.press('Escape');
    await eventually('the keyboard in the tree', () =>
      tree.evaluate((element) => element === element.ownerDocument.activeElement),
    );
    await transcript.locator(`${ROW}.active[aria-label^="reasoner 2 of 2"]`).waitFor();
    await tree.press('ArrowUp');
    await tree.press('ArrowRight');
    await eventually('every row', async () => (await transcript.getByRole('treeitem').count()) === 7);
  },
);

scenario('the map of the protocol filters for a role, and filters leave what matches', async (workbench) => {
  const { transcript } = await open(workbench);
  const map = transcript.getByRole('group', { name: 'Protocol' });
  await map.getByRole('button', { name: /^reasoner/u }).click();
  await eventually('the plans alone', async () => (await transcript.getByRole('treeitem').count()) === 3);
  await transcript.getByText('2 of 6 messages').waitFor();
  await workbench.screenshot('filter');
  await transcript.getByRole('combobox', { name: 'Role' }).selectOption('actor');
  await eventually('the answers with their plans', async () => (await transcript.getByRole('treeitem').count()) === 7);
  await transcript.getByText('4 of 6 messages').waitFor();
  await transcript.getByRole('combobox', { name: 'Label or failure class' }).selectOption('Class: Misleading Plan');
  // One that has to wait for the engine gives way to what is asked for meanwhile.
  await transcript.getByRole('button', { name: 'Clear filters' }).click();
  await eventually(
    'all rows',
    async () =>
      (await transcript.getByRole('treeitem').count()) === 7 &&
      (await transcript.locator('.matching').innerText()) === '',
  );
});

scenario('letters go to the row that begins so, and the sheet of keys names every key', async (workbench) => {
  const { transcript } = await open(workbench);
  const tree = transcript.getByRole('tree');
  await tree.press('Home');
  // At once: after a pause a letter begins a new word, and C compares.
  await tree.evaluate((element) => {
    for (const key of 'ac') {
      element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    }
  });
  await transcript.locator(`${ROW}.active[aria-label^="actor 1 of 2"]`).waitFor();
  await tree.press('Home');
  await tree.press('Shift+R');
  await transcript.locator(`${ROW}.active[aria-label^="reasoner 1 of 2"]`).waitFor();
  await tree.press('?');
  const sheet = transcript.getByRole('dialog', { name: 'Keys of the message tree' });
  await sheet.getByText('Search the messages').waitFor();
  await workbench.screenshot('keys');
  await workbench.page.keyboard.press('Escape');
  assertQuiet(workbench);
});
