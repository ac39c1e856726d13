/**
 * What a user of a transcript does not lose when another message or another tab is shown, and when the window is loaded
 * anew.
 */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { FEW_REPLAYS, field, press, requests } from '../../integration/firstTranscript.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { addLostEpisodes, LOST_QUESTIONS } from '../../integration/lostEpisodes.ts';
import {
  assertQuiet,
  choose,
  chooseOption,
  firstPlan,
  hasFocus,
  openFromEpisodes,
  reading,
  reloadWindow,
  transcriptOf,
} from '../../integration/team.ts';

const scenario = workbenchScenarios(FEW_REPLAYS);
const ROW = '[role="treeitem"]';
/** How far the pane is scrolled, in pixels. */
const PLACE = 90;
const DRAFT = 'what if\nit had said 7';

/** The other snapshot that the form of the draft chose, as it names it. */
let snapshot = '';

/** The form of the first plan has what was begun. */
async function draftThere(frame: FrameLocator): Promise<void> {
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
      [DRAFT, '5', '9', '0.25', 'false', snapshot],
    );
    return true;
  });
  await frame.getByText('another continuation distribution', { exact: true }).first().waitFor();
}

/** The transcript of a lost episode, with a summary of why. */
async function openLost(workbench: Workbench): Promise<FrameLocator> {
  await openFromEpisodes(workbench, LOST_QUESTIONS.decided, 'Tiny');
  return workbench.webview(new RegExp(`^${LOST_QUESTIONS.decided}`, 'u'));
}

/** The first plan is selected and folded, and in the pane, which is scrolled to its place. */
async function placeThere(frame: FrameLocator): Promise<void> {
  await frame.locator(`${ROW}[aria-selected="true"][aria-expanded="false"][aria-label^="reasoner 1 of"]`).waitFor();
  await frame.getByRole('heading', { name: 'reasoner' }).waitFor();
  await eventually(
    'the place in the pane',
    async () => Math.abs((await frame.locator('.detail').evaluate((element) => element.scrollTop)) - PLACE) <= 2,
  );
}

scenario(
  'a message half written comes back with its numbers after another row, and after the panel was hidden; so does what was selected and folded, and the place',
  async (workbench) => {
    addLostEpisodes(workbench.folder);
    await workbench.runCommand('C3: Refresh');
    const lost = await openLost(workbench);
    await lost.locator('.why').getByText('Decisive message').waitFor();
    await lost.locator('.why > summary').click();
    await lost.locator('.why').getByText('Decisive message').waitFor({ state: 'hidden' });
    const { question } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);
    await choose(transcript, 'actor');
    await choose(transcript, 'reasoner');
    await transcript.getByText('Try your own message').click();
    await field(transcript, 'Your own message').fill(DRAFT);
    await field(transcript, 'Alternatives').fill('5');
    await field(transcript, 'Replays each').fill('9');
    await transcript.getByRole('checkbox', { name: 'Common random numbers' }).click();
    await transcript.locator('.continue-with > summary').click();
    await transcript.getByRole('combobox', { name: 'Snapshot' }).press('ArrowDown');
    snapshot = await eventually('another snapshot', async () => {
      const chosen = await transcript.getByRole('combobox', { name: 'Snapshot' }).innerText();
      return !chosen.startsWith('As recorded') && chosen;
    });
    await field(transcript, 'Temperature').fill('0.25');
    await choose(transcript, 'actor');
    await eventually(
      'the form as offered: the draft is of its own message',
      async () => (await field(transcript, 'Alternatives').inputValue()) === '3',
    );
    await field(transcript, 'Replays each').fill('4');
    await choose(transcript, 'reasoner');
    await draftThere(transcript);
    await transcript.getByText('Details', { exact: true }).click();
    await transcript.getByText('Context key').waitFor();
    await transcript.getByRole('tree').press('ArrowLeft');
    await transcript.locator(`${ROW}[aria-expanded="false"]`).waitFor();
    // A place is kept once scrolling rests, or the keyboard leaves the panel.
    const pane = transcript.locator('.detail');
    await pane.evaluate(
      (element, place) =>
        new Promise((scrolled) => {
          element.addEventListener('scroll', scrolled, { once: true });
          element.scrollTop = place;
        }).then(() => undefined),
      PLACE,
    );
    assert.equal(await pane.evaluate((element) => element.scrollTop), PLACE, 'the pane is longer than the window');
    await workbench.openFile('tiny.c3.yaml');
    await transcriptOf(workbench, question);
    const shown = await transcriptOf(workbench, question);
    await draftThere(shown);
    await placeThere(shown);
    await workbench.screenshot('replay-draft');
  },
);

scenario(
  'all of it comes back after the window was loaded anew, with the keyboard, open details, filters and a folded summary',
  async (workbench) => {
    const { question, message } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);
    await chooseOption(transcript, 'Role', 'reasoner', { exact: true });
    await transcript.getByText('2 of 6 messages').waitFor();
    await eventually('the plans alone', async () => (await transcript.getByRole('treeitem').count()) === 3);

    await reloadWindow(workbench);
    const again = await transcriptOf(workbench, question);
    await draftThere(again);
    await eventually('the keyboard in the tree', () => hasFocus(again.getByRole('tree')));
    await again.getByText('2 of 6 messages').waitFor();
    await eventually('the plans alone, again', async () => (await again.getByRole('treeitem').count()) === 3);
    await again.getByRole('button', { name: 'Clear filters' }).click();
    await placeThere(again);
    await again.getByText('Context key').waitFor();
    await again.getByText('Details', { exact: true }).click();
    await again.getByText('Context key').waitFor({ state: 'hidden' });
    await again.getByRole('tree').press('ArrowRight');
    await again.locator(`${ROW}[aria-selected="true"][aria-expanded="true"]`).waitFor();
    await choose(again, 'actor');
    await eventually('the other draft', async () => (await field(again, 'Replays each').inputValue()) === '4');

    // What is asked for is no draft any more.
    await choose(again, 'reasoner');
    const before = requests(workbench, message).length;
    await field(again, 'Alternatives').fill('1');
    await field(again, 'Replays each').fill('1');
    await press(again, 'Replay my message').click();
    await eventually('the request', () => requests(workbench, message).length > before, 120_000);
    await eventually('its end', async () => !(await press(again, 'Cancel').isVisible()), 120_000);
    await eventually('the draft among its alternatives', () =>
      requests(workbench, message).some(
        ({ continuation, alternatives }) =>
          continuation?.temperature === 0.25 && alternatives.some(({ text }) => text === DRAFT),
      ),
    );
    await choose(again, 'actor');
    await choose(again, 'reasoner');
    await eventually('the form as offered', async () => {
      assert.deepEqual(
        [await field(again, 'Alternatives').inputValue(), await again.locator('.typed textarea').inputValue()],
        ['3', reading(workbench, (store) => store.message(message).text)],
      );
      return true;
    });
    // It was folded before.
    const lost = await openLost(workbench);
    await lost.locator('.why', { hasText: 'Why it was lost' }).waitFor();
    assert.equal(await lost.locator('.why').getAttribute('open'), null, 'it is folded still');
    await lost.locator('.why > summary').click();
    await lost.getByText('Decisive message').waitFor();
    assertQuiet(workbench);
  },
);
