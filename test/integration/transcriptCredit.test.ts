/**
 * One credit per message in a transcript: why an episode was lost, what it takes to be sure, the same number in every
 * place, and what the words mean.
 */
import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { sentence } from '../../src/shared/credit/headline.ts';
import { instance } from '../unit/extension/storeFixture.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { addLostEpisodes, LOST, LOST_QUESTIONS } from './lostEpisodes.ts';
import { replayedAgain, signed, words } from './oneCredit.ts';
import {
  assertQuiet,
  choose,
  firstPlan,
  frameOf,
  hasFocus,
  openFromEpisodes,
  paneReady,
  reading,
  transcriptOf,
} from './team.ts';

const scenario = workbenchScenarios({
  // With shared random numbers some answers differ so much that few replays settle their credit.
  recording: 'arithmeticPaired',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const ROW = '[role="treeitem"]';
let prepared = false;

/** The lost episodes beside those of the recorded run. */
function prepare(workbench: Workbench): typeof LOST_QUESTIONS {
  if (!prepared) {
    prepared = true;
    addLostEpisodes(workbench.folder);
  }
  return LOST_QUESTIONS;
}

async function openQuestion(workbench: Workbench, question: string): Promise<FrameLocator> {
  await workbench.runCommand('C3: Refresh');
  await openFromEpisodes(workbench, question, 'Tiny');
  const transcript = await workbench.webview(new RegExp(`^${question}`, 'u'));
  await transcript.locator(`${ROW}[aria-selected="true"]`).waitFor();
  return transcript;
}

scenario(
  'a lost episode says why: the message that decided it, the best said instead, where they differ; it folds to a line',
  async (workbench) => {
    const { decided } = prepare(workbench);
    const transcript = await openQuestion(workbench, decided);
    const why = transcript.locator('.why');
    await why.getByText('Decisive message').waitFor();
    const lost = reading(workbench, (store) =>
      store
        .transcript({
          run: store.runs(0, 1)[0]?.id ?? '',
          phase: 'train',
          iteration: 3,
          instance: instance(40).uidSha,
          offset: 0,
          limit: 10,
        })
        .messages.find(({ text }) => text === LOST),
    );
    assert.equal(lost?.credit?.verdict, 'hurt', 'sixteen that won are enough');
    const value = signed(lost.credit.value);
    for (const said of ['Why it was lost', 'Decided: hurt', value]) {
      await eventually(`"${said}"`, async () => (await words(why)).includes(said));
    }
    await eventually('where both differ', async () => {
      const gone = await why.locator('del').allTextContents();
      assert.deepEqual(
        gone.map((text) => text.replace(' removed: ', '')),
        ['-', '30'],
      );
      const came = await why.locator('ins').allTextContents();
      assert.deepEqual(
        came.slice(0, 2).map((text) => text.replace(' added: ', '')),
        ['+', '50'],
      );
      return true;
    });
    // Texts of models are text.
    assert.equal(await why.locator('b').count(), 0);
    assert.ok((await why.locator('.why-difference').innerText()).includes('<b>x</b>'));
    assert.equal(await why.getByRole('button', { name: /^Settle/u }).isVisible(), false);
    await workbench.screenshot('why-lost');
    // The best alternative is a click away: the run itself said it, too.
    await why.getByRole('button', { name: 'actor' }).last().click();
    await transcript.locator(`${ROW}[aria-selected="true"]:not([aria-label^="actor 1 of 2"])`).waitFor();
    await transcript.locator(`${ROW}[aria-label^="actor 1 of 2"]`).first().click();
    await why.getByText('Decisive message').waitFor();
    await why.locator('summary').click();
    await why.getByText('Decisive message').waitFor({ state: 'hidden' });
    // The editor lays out its panels some frames after the window.
    await eventually('one line', async () => {
      const line = await words(why);
      assert.ok(line.startsWith(`Why it was lost: actor hurt (${value}): The total is`), line);
      const { height } = (await why.boundingBox()) ?? { height: Infinity };
      assert.ok(height <= 34, `${String(height)} pixels`);
      return true;
    });
    await why.locator('summary').click();
    await why.getByText('Decisive message').waitFor();
    // An episode that was won has no such summary.
    await transcript.locator(`${ROW}[aria-label^="actor 2 of 2"]`).first().click();
    await why.waitFor({ state: 'hidden' });
    assertQuiet(workbench);
  },
);

scenario(
  'where nothing is decided the clearest candidate is called so, and what was never compared says how to',
  async (workbench) => {
    const { undecided, never } = prepare(workbench);
    const transcript = await openQuestion(workbench, undecided);
    const why = transcript.locator('.why');
    await why.getByText('Clearest candidate', { exact: true }).waitFor();
    assert.equal(await why.getByText('Decisive message').count(), 0);
    const lost = reading(workbench, (store) =>
      store
        .transcript({
          run: store.runs(0, 1)[0]?.id ?? '',
          phase: 'train',
          iteration: 3,
          instance: instance(41).uidSha,
          offset: 0,
          limit: 10,
        })
        .messages.find(({ text }) => text === LOST),
    );
    assert.ok(lost?.credit);
    assert.equal(lost.credit.verdict, 'undecided');
    await why.getByText(`To be sure: ${sentence(lost.credit)}`).waitFor();
    await why.getByRole('button', { name: `Settle with about ${String(lost.credit.more)} replays` }).waitFor();
    const other = await openQuestion(workbench, never);
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
        await list
          .getByRole('listitem')
          .filter({ hasText: text })
          .getByText(`×${String(all.length)}`)
          .first()
          .waitFor();
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

scenario(
  'an undecided message is settled by its button, which spends pairs of replays and says what came of it',
  async (workbench) => {
    const { question } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);
    const button = transcript
      .locator('.fact-credit')
      .getByRole('button', { name: /^Settle with about \d+ replays?$/u });
    const actors = transcript.locator(`${ROW}[aria-label^="actor"]:not([aria-label*=", replayed"])`);
    const offered = await eventually('a message that replays would settle', async () => {
      for (const row of await actors.all()) {
        await row.click();
        await paneReady(transcript);
        if (await button.isVisible()) {
          return row;
        }
      }
      return undefined;
    });
    const paired = (): number =>
      reading(
        workbench,
        (store) =>
          store.bucketsOfRun({ run: store.runs(0, 1)[0]?.id ?? '', origin: 'request', offset: 0, limit: 500 }).length,
      );
    const before = paired();
    await button.click();
    await transcript
      .locator('.fact-credit')
      .getByText(/^(Settled with|Still undecided after) \d+ replays?\.$/u)
      .waitFor({ timeout: 180_000 });
    assert.equal(paired(), before + 1, 'one request');
    await eventually('what came of it in the row', async () =>
      /helped|hurt|undecided/u.test((await offered.getAttribute('aria-label')) ?? ''),
    );
    assertQuiet(workbench);
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
