/** Comparing, searching and verifying in the transcript panel, by keyboard. */

import assert from 'node:assert/strict';
import { openFirst, ROW } from './firstTranscript.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, transcriptOf } from './team.ts';

const scenario = workbenchScenarios({ recording: 'arithmetic' });

scenario(
  'two answers are compared by C on one and C on the other: where they part, and in the diff editor',
  async (workbench) => {
    const { transcript, episode } = await openFirst(workbench);
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
        .getByText(`They diverge in message 2 (actor), at character ${at + 1}.`)
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

scenario('words are searched from the keyboard, counted and stepped through', async (workbench) => {
  const { transcript } = await openFirst(workbench);
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
      `hit ${hit}`,
      async () =>
        (await hits.innerText()).startsWith(`${hit} / ${total}`) &&
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
    const { transcript } = await openFirst(workbench);
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
