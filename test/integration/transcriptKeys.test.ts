/**
 * What a user of the transcript's replay form begins and does not lose: the keyboard, a message half written, the way
 * to the keys; and by mouse what has a key.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { FrameLocator, Locator } from 'playwright-core';
import type { BucketView } from '../../src/shared/records/records.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, choose, firstPlan, hasFocus, reading, reloadWindow, tabTo, TINY, transcriptOf } from './team.ts';

const scenario = workbenchScenarios({
  files: { 'tiny.c3.yaml': TINY },
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const ARTIFACTS = join(import.meta.dirname, '..', 'artifacts', 'screenshots');
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
    assert.ok(
      requests(workbench, message).some(
        ({ alternatives }) => alternatives.length > 1 && alternatives.some(({ returns }) => returns.length < 64),
      ),
    );
    // So does a button of an alternative whose figures change, in another request.
    const lists = transcript.getByRole('region', { name: 'Replayed alternatives' });
    const before = await lists.count();
    await workbench.page.keyboard.press('Enter');
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
  },
);

scenario(
  'a message half written comes back with its numbers after another row, after the panel was hidden, and after a reload',
  async (workbench) => {
    const { transcript, question, message } = await openPlan(workbench);
    await transcript.getByText('Try your own message').click();
    await field(transcript, 'Your own message').fill('what if\nit had said 7');
    await field(transcript, 'Alternatives').fill('5');
    await field(transcript, 'Replays each').fill('9');
    await transcript.getByRole('checkbox', { name: 'Common random numbers' }).click();
    await transcript.locator('.continue-with > summary').click();
    await transcript.getByRole('combobox', { name: 'Snapshot' }).press('ArrowDown');
    const snapshot = await eventually('another snapshot', async () => {
      const chosen = await transcript.getByRole('combobox', { name: 'Snapshot' }).innerText();
      return !chosen.startsWith('As recorded') && chosen;
    });
    await field(transcript, 'Temperature').fill('0.25');
    const asBefore = async (frame: FrameLocator): Promise<void> => {
      // A control shows its value in a frame of its own.
      await eventually('what was begun', async () => {
        assert.deepEqual(
          [
            await field(frame, 'Your own message').inputValue(),
            await field(frame, 'Alternatives').inputValue(),
            await field(frame, 'Replays each').inputValue(),
            await field(frame, 'Temperature').inputValue(),
            await frame.getByRole('checkbox', { name: 'Common random numbers' }).getAttribute('aria-checked'),
            await frame.getByRole('combobox', { name: 'Snapshot' }).innerText(),
          ],
          ['what if\nit had said 7', '5', '9', '0.25', 'false', snapshot],
        );
        return true;
      });
      await frame.getByText('another continuation distribution', { exact: true }).first().waitFor();
    };
    await choose(transcript, 'actor');
    await eventually(
      'the form as offered: the draft is of its own message',
      async () => (await field(transcript, 'Alternatives').inputValue()) === '3',
    );
    await field(transcript, 'Replays each').fill('4');
    await choose(transcript, 'reasoner');
    await asBefore(transcript);
    const pane = transcript.locator('.detail');
    // A place is kept once scrolling rests, or the keyboard leaves the panel.
    await pane.evaluate((element) =>
      new Promise((scrolled) => {
        element.addEventListener('scroll', scrolled, { once: true });
        element.scrollTop = 90;
      }).then(() => undefined),
    );
    const place = await pane.evaluate((element) => element.scrollTop);
    assert.equal(place, 90, 'the pane is longer than the window');
    const samePlace = (frame: FrameLocator): Promise<unknown> =>
      eventually(
        'the place in the pane',
        async () => Math.abs((await frame.locator('.detail').evaluate((element) => element.scrollTop)) - place) <= 2,
      );
    await workbench.openFile('tiny.c3.yaml');
    await transcriptOf(workbench, question);
    const shown = await transcriptOf(workbench, question);
    await asBefore(shown);
    await samePlace(shown);
    await workbench.screenshot('replay-draft');
    await reloadWindow(workbench);
    const again = await transcriptOf(workbench, question);
    await asBefore(again);
    await samePlace(again);
    await choose(again, 'actor');
    await eventually('the other draft', async () => (await field(again, 'Replays each').inputValue()) === '4');
    await choose(again, 'reasoner');
    const before = requests(workbench, message).length;
    await field(again, 'Alternatives').fill('1');
    await field(again, 'Replays each').fill('1');
    await press(again, 'Replay alternatives').click();
    await eventually('the request', () => requests(workbench, message).length > before, 120_000);
    await eventually('its end', async () => !(await press(again, 'Cancel').isVisible()), 120_000);
    assert.ok(
      requests(workbench, message).some(
        ({ continuation, alternatives }) =>
          continuation?.temperature === 0.25 && alternatives.some(({ text }) => text === 'what if\nit had said 7'),
      ),
    );
    await choose(again, 'actor');
    await choose(again, 'reasoner');
    await eventually('the form as offered: what was asked for is no draft any more', async () => {
      assert.deepEqual(
        [await field(again, 'Alternatives').inputValue(), await again.locator('.typed textarea').inputValue()],
        ['3', ''],
      );
      return true;
    });
    assertQuiet(workbench);
  },
);

scenario('the sheet of keys opens by mouse and closes by a button; the keyboard is where it was', async (workbench) => {
  const { transcript } = await openPlan(workbench);
  const sheet = transcript.getByRole('dialog', { name: 'Keys of the message tree' });
  const open = press(transcript, 'Keys ( ? )');
  await open.click();
  await sheet.waitFor();
  for (const width of [1280, 800]) {
    await workbench.page.setViewportSize({ width, height: 700 });
    await workbench.page.screenshot({ path: join(ARTIFACTS, `keys-${String(width)}.png`), animations: 'disabled' });
  }
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
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
  for (const theme of ['light', 'highContrast', 'dark'] as const) {
    await workbench.screenshot('keys-button', theme);
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
