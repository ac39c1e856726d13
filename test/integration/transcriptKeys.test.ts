/**
 * The keyboard in the transcript's replay form, the sheet of keys, and by mouse what has a key.
 */
import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import type { BucketView } from '../../src/shared/records/records.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, choose, firstPlan, hasFocus, reading, tabTo, transcriptOf } from './team.ts';

const scenario = workbenchScenarios({
  recording: 'arithmetic',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const ROW = '[role="treeitem"]';

interface Opened {
  readonly transcript: FrameLocator;
  readonly question: string;
  /** The first plan. */
  readonly message: number;
}

/** The transcript of the first training episode, at its first plan. */
async function openPlan(workbench: Workbench): Promise<Opened> {
  const { question, message } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  // By way of another row: its form is as offered.
  await choose(transcript, 'actor');
  await choose(transcript, 'reasoner');
  return { transcript, question, message };
}

const requests = (workbench: Workbench, message: number): readonly BucketView[] =>
  reading(workbench, (store) => store.bucketsFor(message).filter(({ origin }) => origin === 'request'));
const field = (transcript: FrameLocator, name: string): Locator =>
  transcript.getByRole('textbox', { name, exact: true });
const press = (transcript: FrameLocator, name: string): Locator =>
  transcript.getByRole('button', { name, exact: true });

/** Types a value in place of what is in a field that has the keyboard. */
async function retype(workbench: Workbench, value: string): Promise<void> {
  await workbench.page.keyboard.press('End');
  await workbench.page.keyboard.press('Shift+Home');
  await workbench.page.keyboard.type(value);
}

scenario("by keyboard alone a message of one's own is written and replayed", async (workbench) => {
  const { transcript, message } = await openPlan(workbench);
  const { keyboard } = workbench.page;
  await transcript.getByRole('tree').press('Home');
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');
  await tabTo(workbench, field(transcript, 'Alternatives'));
  await retype(workbench, '0');
  await tabTo(workbench, transcript.locator('.typed > summary'));
  await keyboard.press('Enter');
  await tabTo(workbench, field(transcript, 'Your own message'));
  await keyboard.type('1+1, by hand');
  await tabTo(workbench, press(transcript, 'Replay alternatives'), 'Shift+Tab');
  await keyboard.press('Enter');
  await eventually(
    'what was written, replayed',
    () =>
      requests(workbench, message).some(({ alternatives }) =>
        alternatives.some(
          ({ finish, text, returns }) => finish === 'typed' && text === '1+1, by hand' && returns.length === 2,
        ),
      ),
    120_000,
  );
  await eventually(
    'the keyboard where the replay was started',
    () => hasFocus(press(transcript, 'Replay alternatives')),
    120_000,
  );
  const item = transcript
    .getByRole('region', { name: 'Replayed alternatives' })
    .first()
    .getByRole('listitem')
    .filter({ hasText: '1+1, by hand' });
  await item.getByText('typed', { exact: true }).waitFor();
});

scenario(
  'the keyboard goes to Cancel with the start, stays there while progress comes, and Enter cancels',
  async (workbench) => {
    const { transcript, message } = await openPlan(workbench);
    await tabTo(workbench, field(transcript, 'Alternatives'));
    await retype(workbench, '64');
    await tabTo(workbench, field(transcript, 'Replays each'));
    await retype(workbench, '64');
    // Apart, so that equal alternatives take nothing from each other and the request lasts.
    await tabTo(workbench, transcript.getByRole('checkbox', { name: 'Common random numbers' }));
    await workbench.page.keyboard.press('Space');
    await tabTo(workbench, press(transcript, 'Replay alternatives'));
    await workbench.page.keyboard.press('Enter');
    const cancel = press(transcript, 'Cancel');
    await eventually('the keyboard on Cancel', () => hasFocus(cancel));
    await cancel.evaluate((element) => {
      element.setAttribute('data-seen', '');
    });
    const words = transcript.getByText(/^\d+ of 64$/u);
    const first = await words.innerText();
    await eventually(
      'more progress, and the same button with the keyboard',
      async () =>
        (await words.innerText()) !== first &&
        (await cancel.evaluate((element) => element.hasAttribute('data-seen') && element.matches(':focus'))),
      120_000,
    );
    await workbench.page.keyboard.press('Enter');
    await transcript
      .getByText(/^Cancelled after \d+ of 64; finished replays are kept\.$/u)
      .waitFor({ timeout: 120_000 });
    await eventually('the keyboard on the start button', () => hasFocus(press(transcript, 'Replay alternatives')));
    assert.equal(await transcript.getByRole('alert').filter({ hasText: /./u }).count(), 0, 'a cancel is no failure');
    const cancelled = requests(workbench, message).at(-1);
    assert.ok(cancelled && cancelled.alternatives.length > 1);
    assert.ok(
      cancelled.alternatives.some(({ returns }) => returns.length < 64),
      'what arrived is kept',
    );
    // So does a button of an alternative whose figures change, in another request: the other text comes after all
    // replays of what equals the message.
    const lists = transcript.getByRole('region', { name: 'Replayed alternatives' });
    const before = await lists.count();
    await field(transcript, 'Replays each').fill('16');
    await press(transcript, 'Replay alternatives').press('Enter');
    await eventually('the list of the request', async () => (await lists.count()) > before);
    const item = lists.first().getByRole('listitem').nth(1);
    const show = item.getByRole('button', { name: 'show' });
    await show.focus();
    const figures = await item.locator('.figures').innerText();
    await eventually('other figures', async () => (await item.locator('.figures').innerText()) !== figures, 120_000);
    assert.ok(await hasFocus(show), 'the keyboard stays on the button of an alternative');
    await workbench.screenshot('replay-cancel');
    // It may end by itself just now.
    await cancel.click({ timeout: 5_000 }).catch(() => undefined);
    await eventually('the end of the request', async () => !(await cancel.isVisible()), 120_000);
    assert.deepEqual(
      requests(workbench, message)
        .find(({ id }) => id === cancelled.id)
        ?.alternatives.map(({ returns }) => returns),
      cancelled.alternatives.map(({ returns }) => returns),
      'nothing comes after a cancel',
    );
  },
);

scenario('the sheet of keys opens by mouse and closes by a button; the keyboard is where it was', async (workbench) => {
  const { transcript } = await openPlan(workbench);
  const sheet = transcript.getByRole('dialog', { name: 'Keys of the message tree' });
  const open = press(transcript, 'Keys ( ? )');
  await open.click();
  await sheet.waitFor();
  await workbench.screenshot('keys-button');
  await press(transcript, 'Close').click();
  await sheet.waitFor({ state: 'hidden' });
  await eventually('the keyboard on the button', () => hasFocus(open));
  const tree = transcript.getByRole('tree');
  for (const way of ['Escape', '?', 'Enter']) {
    await tree.press('?');
    await sheet.waitFor();
    // Enter presses the button that has the keyboard: the one that closes.
    await workbench.page.keyboard.press(way);
    await sheet.waitFor({ state: 'hidden' });
    await eventually('the keyboard in the tree', () => hasFocus(tree));
  }
  assertQuiet(workbench);
});

scenario(
  'by mouse alone a message is selected to compare, compared, and its model input read token by token',
  async (workbench) => {
    const { transcript } = await openPlan(workbench);
    await transcript.locator(`${ROW}[aria-label^="actor 1 of"]`).first().click({ button: 'right' });
    await workbench.chooseFromMenu('Select to compare');
    await transcript
      .locator(`${ROW}.compared[aria-label^="actor 1 of"]`)
      .getByText('to compare', { exact: true })
      .waitFor();
    await workbench.chooseOnceOffered(
      transcript.locator(`${ROW}[aria-label^="actor 2 of"]`).first(),
      'Compare with the selected branch',
    );
    await workbench.page.locator('.monaco-diff-editor').waitFor();
    await workbench.closeEditor();
    const tokens = async (): Promise<void> => {
      const editor = workbench.page.locator('.editor-instance .monaco-editor .view-lines');
      await eventually('rows of tokens', async () =>
        /^ *0 +\d+ +([0-9a-f]{2} )+ *│.*│/mu.test((await editor.first().innerText()).replaceAll('\u00a0', ' ')),
      );
      await workbench.closeEditor();
    };
    const { transcript: again } = await openPlan(workbench);
    await again.locator(`${ROW}[aria-label^="reasoner 1 of"]`).first().click({ button: 'right' });
    await workbench.chooseFromMenu('Show model input as tokens');
    await tokens();
    const { transcript: pane } = await openPlan(workbench);
    await pane.getByText('Model input, exactly as the model saw it').click();
    await press(pane, 'Show tokens and bytes').click();
    await tokens();
    assertQuiet(workbench);
  },
);
