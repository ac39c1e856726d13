/** Reading a transcript, also a hostile one, and replaying a message, with the real engine. */

import assert from 'node:assert/strict';
import { describeHeadline } from '../../src/shared/credit/headline.ts';
import { estimate, FEW_REPLAYS, finished, newestRequest, openFirst, openPlan, replayByKey } from './firstTranscript.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { openTexts, rowOf, textOf } from './messageTexts.ts';
import { signed } from './oneCredit.ts';
import { assertQuiet, chooseOption, frameOf, openLane, reading } from './team.ts';

const scenario = workbenchScenarios(FEW_REPLAYS);

scenario(
  'an episode of a run from the command line opens its transcript at the message that was scored',
  async (workbench) => {
    const { transcript, episode } = await openFirst(workbench);
    const selected = transcript.locator('[role="treeitem"][aria-selected="true"]');
    await selected.waitFor();
    assert.match(
      (await selected.getAttribute('aria-label')) ?? '',
      new RegExp(`^actor 1 of 2: ${episode.actor.replaceAll(/[.*+?^${}()|[\]\\]/gu, '\\$&')}; return [01];`, 'u'),
    );
    // The question, two plans and two actors under each.
    await eventually('every row', async () => (await transcript.getByRole('treeitem').count()) === 7);
    await transcript.getByRole('heading', { name: 'actor' }).waitFor();
  },
);

scenario(
  'a replay shows the alternatives that the engine stored, with their returns, credit, interval and cost',
  async (workbench) => {
    const { transcript, episode } = await openFirst(workbench);
    await replayByKey(workbench, { transcript, episode });
    const replayed = transcript.getByRole('region', { name: 'Replayed alternatives' });
    const bucket = newestRequest(workbench, episode.planId);
    assert.ok(bucket);
    assert.equal(bucket.alternatives.length, 4);
    // Equal ones are one.
    const different = [...Map.groupBy(bucket.alternatives, ({ text }) => text).values()];
    await eventually(
      'an item for each',
      async () => (await replayed.getByRole('listitem').count()) === different.length,
    );
    // Their figures are those of the store once the pane has read it after the last replay.
    const compare = async (index: number, all: (typeof different)[number]): Promise<true> => {
      const [alternative] = all;
      assert.ok(alternative);
      assert.ok(all.every(({ returns }) => returns.length === 2));
      const item = replayed.getByRole('listitem').nth(index);
      const words = (await item.innerText()).replaceAll(/\s+/gu, ' ');
      assert.ok(alternative.credit);
      assert.ok(words.includes(alternative.text.trim().replaceAll(/\s+/gu, ' ')), `${words} shows ${alternative.text}`);
      const { credit } = alternative;
      const here = all.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);
      assert.ok(words.includes(describeHeadline(credit)), words);
      if (credit.verdict === 'alone') {
        assert.ok(words.includes(`${here} evaluator call`), words);
      } else {
        assert.ok(words.includes(signed(credit.value)), `${words} shows ${signed(credit.value)}`);
        const behind = `· n ${credit.n} · effective n ${credit.effectiveN} · ${credit.evaluatorCalls} evaluator call`;
        assert.ok(words.includes(behind) && words.includes(`, ${here} here`), words);
      }
      return true;
    };
    for (const [index, all] of different.entries()) {
      await eventually(`the figures of alternative ${index}`, () => compare(index, all));
    }
    await replayed.getByText('common random numbers').waitFor();
    // Every replay was executed again at once.
    await eventually(
      'a badge on every alternative',
      async () =>
        (await replayed
          .getByRole('listitem')
          .filter({ hasText: 'identical: re-execution gave the same bytes' })
          .count()) === different.length,
    );
    // The run's own messages stay as they were; the replays are a lane below theirs.
    const items = transcript.getByRole('treeitem');
    await eventually('the lane in the tree', async () => (await items.count()) === 7 + 1);
    await transcript.getByText('6 messages · 8 replays in 1 request').waitFor();
    assert.equal(await transcript.locator('[role="treeitem"][aria-label^="reasoner 1 of 2:"]').count(), 1);
    assert.equal(await openLane(transcript, 'reasoner'), '8 replays in 1 request');
    // Three plans, and two continuations of each of the four.
    await eventually('the branches in the lane', async () => (await items.count()) === 7 + 1 + 3 + 8);
    await chooseOption(transcript, 'Run or replays', 'Run only', { exact: true });
    await eventually('the run alone', async () => (await items.count()) === 7);
    await transcript.getByText('6 of 6 messages, 0 of 11 replayed').waitFor();
    await chooseOption(transcript, 'Run or replays', 'Replays only', { exact: true });
    // The question, the plan and its lane are above them.
    await eventually('the replays alone', async () => (await items.count()) === 3 + 3 + 8);
    await transcript.getByRole('button', { name: 'Clear filters' }).click();
    await eventually('both again', async () => (await items.count()) === 7 + 1 + 3 + 8);
    await workbench.screenshot('transcript');
  },
);

scenario(
  'from the keyboard alone a message is continued with another snapshot at another temperature, and that is marked',
  async (workbench) => {
    const plan = await openPlan(workbench);
    const { transcript, message } = plan;
    const before = reading(workbench, (store) => store.message(message).credit);
    const replaced = await eventually('an estimate, or none', async () => {
      const words = await estimate(transcript, 'Replace').innerText();
      return /\d\.\d\d|not measured/u.test(words) && words;
    });
    const disclosure = transcript.locator('.continue-with > summary');
    await disclosure.focus();
    await disclosure.press('Enter');
    await disclosure.press('Tab');
    const snapshot = transcript.getByRole('combobox', { name: 'Snapshot' });
    await eventually('the keyboard in the list of snapshots', () =>
      snapshot.evaluate((element) => element === element.ownerDocument.activeElement),
    );
    await snapshot.press('ArrowDown');
    await transcript.getByText('another continuation distribution', { exact: true }).waitFor();
    await snapshot.press('Tab');
    const temperature = transcript.getByRole('textbox', { name: 'Temperature' });
    await temperature.pressSequentially('0.5x');
    await temperature.press('Enter');
    await transcript.getByRole('alert').filter({ hasText: 'Temperature: a number from 0.01 to 10.' }).waitFor();
    await temperature.press('Backspace');
    await temperature.press('Enter');
    await eventually(
      'a request of another distribution',
      () => (newestRequest(workbench, message)?.continuation ?? null) !== null,
      120_000,
    );
    await finished(workbench, plan);
    const bucket = newestRequest(workbench, message);
    assert.ok(bucket?.continuation);
    assert.deepEqual(
      [bucket.continuation.temperature, bucket.continuation.differs.snapshot, bucket.alternatives.length],
      [0.5, true, 4],
    );
    const list = transcript.getByRole('region', { name: 'Replayed alternatives' }).first();
    await list.getByText(`another continuation distribution: snapshot ${bucket.snapshot.slice(0, 12)}`).waitFor();
    await eventually(
      'verified with the same weights',
      async () =>
        (await list
          .getByRole('listitem')
          .filter({ hasText: 'identical: re-execution gave the same bytes' })
          .count()) === new Set(bucket.alternatives.map(({ text }) => text)).size,
    );
    await openLane(transcript, 'reasoner');
    await eventually(
      'marked branches',
      async () =>
        (await transcript
          .locator('[role="treeitem"][aria-label*=", replayed, another continuation distribution"]')
          .count()) ===
        3 + 8,
    );
    // Neither the message's credit nor its estimates take anything from it.
    assert.deepEqual(
      reading(workbench, (store) => store.message(message).credit),
      before,
    );
    await eventually(
      'the estimate as before',
      async () => (await estimate(transcript, 'Replace').innerText()) === replaced,
    );
    await list.scrollIntoViewIfNeeded();
    await workbench.screenshot('other-distribution');
    assertQuiet(workbench);
  },
);

scenario('hostile mathematics is text, and nothing of it is executed or asked for', async (workbench) => {
  const asked: string[] = [];
  workbench.page.on('request', (request) => {
    if (request.url().includes('c3-canary')) {
      asked.push(request.url());
    }
  });
  const transcript = await openTexts(workbench);
  const text = textOf(transcript);
  await rowOf(transcript, '\\\\href').click();
  // Until the message is here, the pane shows the one before.
  await text.getByText('\\includegraphics').first().waitFor();
  await text.locator('math').first().waitFor();
  const words = await text.innerText();
  for (const part of [
    '$\\href{https://c3-canary.invalid}{x}$',
    '\\includegraphics',
    '\\def\\a{\\a\\a}\\a',
    '\\htmlClass',
    '\\fcolorbox',
    '⟨U+202E⟩',
  ]) {
    assert.ok(words.includes(part), part);
  }
  assert.equal(await text.locator('a, img, script, [href], [style]').count(), 0);
  assert.equal(await (await frameOf(transcript)).evaluate('globalThis.c3Canary'), undefined);
  assert.deepEqual(asked, []);
  await workbench.screenshot('message-text-hostile');
  assertQuiet(workbench);
});
