/** The transcript with the real engine: arrow keys in the tree, typed messages, and verified branches. */

import assert from 'node:assert/strict';
import { loadSqlite } from '../../../src/store/files/sqlite.ts';
import {
  FEW_REPLAYS,
  firstEpisode,
  newestRequest,
  openFirst,
  replayByKey,
  requests,
} from '../../integration/firstTranscript.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { assertQuiet, choose, openLane, reading, storeOf } from '../../integration/team.ts';
import { tamper } from '../../support/tamper.ts';

const scenario = workbenchScenarios(FEW_REPLAYS);

/**
 * Changes the first token of a continuation in the oldest request about a message, as another program could; the
 * message's id.
 */
function changeFirstToken(workbench: Workbench, message: number): number {
  const [bucket] = requests(workbench, message);
  const victim = reading(
    workbench,
    (store) => store.replaysOfBucket(bucket?.id ?? 0).find(({ alternative }) => alternative !== message)?.leaf,
  );
  assert.ok(victim);
  const db = new (loadSqlite())(storeOf(workbench.folder));
  tamper(db, `UPDATE decision SET tokens = CAST(x'01000000' || substr(tokens, 5) AS BLOB) WHERE id = ${victim}`);
  db.close();
  return victim;
}

/** The streams that replay 0 of each alternative in the newest request about a message drew from. */
function continuationStreams(workbench: Workbench, message: number): readonly string[] {
  const bucket = newestRequest(workbench, message);
  return reading(workbench, (store) =>
    store
      .replaysOfBucket(bucket?.id ?? 0)
      .filter(({ replayIndex }) => replayIndex === 0)
      .map(({ leaf }) => store.fullMessage(leaf).streamKey),
  );
}

scenario('the tree is one tab stop that the arrow keys walk, fold and unfold', async (workbench) => {
  const { transcript } = await openFirst(workbench);
  const tree = transcript.getByRole('tree');
  const active = async (): Promise<string> =>
    (await transcript
      .locator(`[id="${(await tree.getAttribute('aria-activedescendant')) ?? ''}"]`)
      .getAttribute('aria-label')) ?? '';
  const becomes = (start: string): Promise<true> =>
    eventually(`${start} active`, async () => (await active()).startsWith(start) || undefined).then(() => true);
  await tree.press('Home');
  await becomes('Question');
  await tree.press('ArrowDown');
  await becomes('reasoner 1 of 2');
  await tree.press('ArrowLeft');
  await eventually('two rows fewer', async () => (await transcript.getByRole('treeitem').count()) === 5);
  await tree.press('ArrowDown');
  await becomes('reasoner 2 of 2');
  await tree.press('ArrowUp');
  await tree.press('ArrowRight');
  await eventually('all rows again', async () => (await transcript.getByRole('treeitem').count()) === 7);
  await tree.press('ArrowRight');
  await becomes('actor 1 of 2');
  await tree.press('ArrowLeft');
  await becomes('reasoner 1 of 2');
  await tree.press('Enter');
  await transcript.getByRole('heading', { name: 'reasoner' }).waitFor();
});

scenario('a message of the user is among the alternatives', async (workbench) => {
  const { transcript, episode } = await openFirst(workbench);
  // The lane of the plan, for the next scenario. It comes first: another request before it would draw other texts.
  await replayByKey(workbench, { transcript, episode });
  await choose(transcript, 'actor');
  await transcript.getByText('Try your own message').click();
  await transcript.getByRole('textbox', { name: 'Your own message' }).fill('no answer at all');
  await transcript.getByRole('button', { name: 'Replay my message' }).click();
  const item = transcript
    .getByRole('region', { name: 'Replayed alternatives' })
    .getByRole('listitem')
    .filter({ hasText: 'no answer at all' });
  await item.waitFor();
  await item.getByText('typed').waitFor();
  await eventually('its return', () =>
    newestRequest(workbench, episode.leaf)?.alternatives.some(
      (alternative) => alternative.finish === 'typed' && alternative.returns[0] === 0,
    ),
  );
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 120_000 });
});

scenario(
  'every branch says what re-execution showed, and a row that was changed says so when it is verified',
  async (workbench) => {
    const { transcript, episode } = await openFirst(workbench);
    await openLane(transcript, 'reasoner');
    await openLane(transcript, 'actor');
    const branches = transcript.locator('[role="treeitem"][aria-label*=", replayed"]');
    await branches.first().waitFor();
    await eventually(
      'every branch, and nothing else, to say where it stands',
      async () =>
        (await branches.count()) === (await transcript.locator('[role="treeitem"][aria-label*="; replay "]').count()),
    );
    await eventually(
      'a mark on three plans and eight continuations',
      async () =>
        (await transcript
          .locator('[role="treeitem"][aria-label*="; replay identical: re-execution gave the same bytes"]')
          .count()) >= 11,
    );
    const victim = changeFirstToken(workbench, episode.planId);
    await choose(transcript, 'reasoner');
    await workbench.runCommand('C3: Verify replay');
    await workbench.notification(/replays of this message re-executed: \d+ identical, 1 different/u).waitFor();
    const row = transcript.locator(
      `[role="treeitem"][aria-label*="; replay differs at token 0: message ${victim} differs at token 0"]`,
    );
    await row.first().getByText('differs at token 0', { exact: true }).waitFor();
    const item = transcript.getByRole('listitem').filter({ hasText: 'the row was changed' });
    await item.first().getByText('differs at token 0', { exact: true }).waitFor();
    await workbench.screenshot('verification');
    // From the context menu of a branch that nobody touched.
    await transcript
      .locator('[role="treeitem"][aria-label^="actor"][aria-label*="; replay identical"]')
      .first()
      .click({ button: 'right' });
    await workbench.chooseFromMenu('Verify replay');
    await workbench
      .notification('1 replay of this message re-executed: 1 identical, 0 different, 0 not comparable')
      .waitFor();
    assertQuiet(workbench);
  },
);

scenario('a message is found by its words and by its context menu replayed', async (workbench) => {
  await eventually('the message in the list', async () => {
    await workbench.runCommand('C3: Find message');
    const list = workbench.page.locator('.quick-input-widget:visible');
    await list.locator('input.input').fill('no answer', { timeout: 10_000 });
    await list.locator('.monaco-list-row', { hasText: 'no answer at all' }).click({ timeout: 10_000 });
    return true;
  });
  const { question } = firstEpisode(workbench);
  const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
  const row = transcript.locator('[role="treeitem"][aria-selected="true"][aria-label*="no answer at all"]');
  await row.waitFor();
  await row.click({ button: 'right' });
  await workbench.chooseFromMenu('Replay alternatives');
  const replayed = transcript.getByRole('region', { name: 'Replayed alternatives' }).first();
  await replayed.getByText('this message').waitFor();
  await eventually('three alternatives more', async () =>
    / of 4 · |^4 · /u.test(await replayed.locator('.bucket-note').innerText()),
  );
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 120_000 });
});

scenario('alternatives draw numbers of their own when common random numbers are off', async (workbench) => {
  const { transcript, episode } = await openFirst(workbench);
  await choose(transcript, 'reasoner');
  await transcript.getByRole('textbox', { name: 'Alternatives' }).fill('1');
  const box = transcript.getByRole('checkbox', { name: 'Common random numbers' });
  await box.click();
  await eventually('the box without its mark', async () => (await box.getAttribute('aria-checked')) === 'false');
  const before = newestRequest(workbench, episode.planId)?.id;
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  await transcript
    .getByRole('region', { name: 'Replayed alternatives' })
    .filter({ hasText: 'independent random numbers' })
    .first()
    .waitFor();
  const [first, second] = await eventually('both continuations of this request', () => {
    const streams = continuationStreams(workbench, episode.planId);
    const isNew = newestRequest(workbench, episode.planId)?.id !== before;
    return isNew && streams[0] !== undefined && streams[1] !== undefined ? streams : undefined;
  });
  assert.ok(first !== second);
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 120_000 });
});

scenario('fields that hold no number say so and start nothing', async (workbench) => {
  const { transcript } = await openFirst(workbench);
  await choose(transcript, 'actor');
  await transcript.getByRole('textbox', { name: 'Replays each' }).fill('many');
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  await transcript.getByText('Replays each: a whole number from 1 to 64.').waitFor();
  assert.equal(await transcript.getByRole('button', { name: 'Cancel' }).count(), 0);
});
