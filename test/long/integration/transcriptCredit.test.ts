/**
 * One credit per message in a transcript: candidates where nothing is decided, the same number in every place, and what
 * the words mean.
 */

import assert from 'node:assert/strict';
import { describeHeadline } from '../../../src/shared/credit/headline.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { addLostEpisodes, LOST_QUESTIONS, lostMessage, openLost } from '../../integration/lostEpisodes.ts';
import { replayedAgain, signed, words } from '../../integration/oneCredit.ts';
import {
  assertQuiet,
  choose,
  firstPlan,
  frameOf,
  hasFocus,
  paneReady,
  reading,
  transcriptOf,
} from '../../integration/team.ts';

const scenario = workbenchScenarios({
  // With shared random numbers some answers differ so much that few replays settle their credit.
  recording: 'arithmeticPaired',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const ROW = '[role="treeitem"]';

scenario(
  'where nothing is decided the clearest candidate is called so, and what was never compared says how to',
  async (workbench) => {
    addLostEpisodes(workbench.folder);
    const transcript = await openLost(workbench, LOST_QUESTIONS.undecided);
    const why = transcript.locator('.why');
    await why.getByText('Clearest candidate', { exact: true }).waitFor();
    assert.equal(await why.getByText('Decisive message').count(), 0);
    const lost = lostMessage(workbench, 41);
    assert.ok(lost?.credit);
    assert.equal(lost.credit.verdict, 'undecided');
    await why.getByText(`To be sure: ${describeHeadline(lost.credit)}`).waitFor();
    await why.getByRole('button', { name: `Settle with about ${String(lost.credit.more)} replays` }).waitFor();
    const other = await openLost(workbench, LOST_QUESTIONS.never);
    assert.equal(await workbench.tab('Episodes').count(), 1, 'the tab that is there is shown again');
    await other.locator('.why').getByText('No message of this episode has been compared with others yet.').waitFor();
    assertQuiet(workbench);
  },
);

scenario(
  'R twice: one credit in row, pane, list, buckets view and on the command line, and it converges',
  (workbench) => replayedAgain(workbench, { presses: 2, further: false }),
);

scenario(
  'equal alternatives are one item with their number, and the training credit is under Details',
  async (workbench) => {
    const { question, message } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);
    await choose(transcript, 'reasoner');
    const bucket = reading(workbench, (store) =>
      store.bucketsFor(message).findLast(({ origin }) => origin === 'request'),
    );
    assert.ok(bucket);
    const counted = Map.groupBy(bucket.alternatives, ({ text }) => text);
    const list = transcript.getByRole('region', { name: 'Replayed alternatives' }).first();
    await eventually('one item per text', async () => (await list.getByRole('listitem').count()) === counted.size);
    for (const [text, all] of counted) {
      if (all.length > 1) {
        await list.getByRole('listitem').filter({ hasText: text }).getByText(`×${all.length}`).first().waitFor();
      }
    }
    const { trainingCredit } = reading(workbench, (store) => store.message(message));
    assert.ok(trainingCredit);
    await transcript.getByText('Details', { exact: true }).click();
    await eventually('the training credit', async () =>
      (await words(transcript.locator('.keys-and-hashes'))).includes(`Training credit ${signed(trainingCredit.value)}`),
    );
    await transcript.getByText('Details', { exact: true }).click();
  },
);

scenario('the pane says that it is busy until it shows the message that was chosen', async (workbench) => {
  const { question } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'reasoner');
  await transcript.locator(`${ROW}[aria-label^="actor 1 of"]`).first().waitFor();
  // Found and clicked in one step: the tree may draw its rows anew between two.
  const busy = await (
    await frameOf(transcript)
  ).evaluate(() => {
    const row = document.querySelector('[role="treeitem"][aria-label^="actor 1 of"]');
    row?.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    return document.querySelector('.detail')?.getAttribute('aria-busy');
  });
  assert.equal(busy, 'true', 'what is on screen is not what was chosen');
  await paneReady(transcript);
  await transcript.getByRole('heading', { name: 'actor' }).waitFor();
});

scenario('what a word means shows under the pointer and for the keyboard, and Escape closes it', async (workbench) => {
  const { question } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  const tip = transcript.getByRole('tooltip');
  const pane = transcript.locator('.detail');
  const word = pane.getByRole('button', { name: 'Credit', exact: true }).first();
  // What came of the replays before may still arrive, and moves the words that are explained.
  await eventually('the explanation under the pointer', async () => {
    await transcript.getByRole('tree').hover();
    await word.hover();
    await tip.getByText('How much better episodes end with this message').waitFor({ timeout: 5_000 });
    return true;
  });
  // The pointer may go on to the explanation.
  await tip.hover();
  await tip.waitFor();
  await transcript.getByRole('tree').hover();
  await tip.waitFor({ state: 'hidden' });
  const effective = pane.getByRole('button', { name: 'effective n' }).first();
  await effective.focus();
  await tip.getByText('independent pieces of evidence').waitFor();
  assert.match((await effective.getAttribute('aria-description')) ?? '', /independent pieces of evidence/u);
  await workbench.screenshot('glossary');
  await effective.press('Escape');
  await tip.waitFor({ state: 'hidden' });
  assert.ok(await hasFocus(effective), 'the word has the keyboard still');
  await transcript.getByRole('tree').press('?');
  const sheet = transcript.getByRole('dialog', { name: 'Keys of the message tree' });
  for (const name of ['rho', 'stream', 'bucket', 'snapshot', 'replay']) {
    await sheet.locator('.words-list dt').getByText(name, { exact: true }).waitFor();
  }
  await workbench.page.keyboard.press('Escape');
  assertQuiet(workbench);
});
