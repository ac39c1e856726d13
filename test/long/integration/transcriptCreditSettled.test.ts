/** One credit per message in a transcript: why an episode was lost, and what it takes to be sure. */

import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { addLostEpisodes, LOST_QUESTIONS, lostMessage, openLost } from '../../integration/lostEpisodes.ts';
import { signed, words } from '../../integration/oneCredit.ts';
import { assertQuiet, firstPlan, paneReady, reading, transcriptOf } from '../../integration/team.ts';

const scenario = workbenchScenarios({
  // With shared random numbers some answers differ so much that few replays settle their credit.
  recording: 'arithmeticPaired',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const ROW = '[role="treeitem"]';

scenario(
  'a lost episode says why: the message that decided it, the best said instead, where they differ; it folds to a line',
  async (workbench) => {
    addLostEpisodes(workbench.folder);
    const transcript = await openLost(workbench, LOST_QUESTIONS.decided);
    const why = transcript.locator('.why');
    await why.getByText('Decisive message').waitFor();
    const lost = lostMessage(workbench, 40);
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
      assert.ok(height <= 34, `${height} pixels`);
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
