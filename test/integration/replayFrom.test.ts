/** Replaying a message otherwise than it was made, and what it was worth by each estimator; by mouse and keyboard. */
import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import type { BucketView } from '../../src/shared/records/records.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, choose, firstPlan, openLane, reading, transcriptOf } from './team.ts';

const scenario = workbenchScenarios({
  recording: 'arithmetic',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});

/** The first plan of the run in its transcript. */
async function openPlan(
  workbench: Workbench,
): Promise<{ readonly transcript: FrameLocator; readonly message: number }> {
  const { question, message } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'reasoner');
  return { transcript, message };
}

const newestRequest = (workbench: Workbench, message: number): BucketView | undefined =>
  reading(workbench, (store) => store.bucketsFor(message).findLast(({ origin }) => origin === 'request'));

/** Waits until the replays of a message have ended: all that the store knows of, once the page knows of them too. */
async function finished(workbench: Workbench, transcript: FrameLocator, message: number): Promise<void> {
  const requests = reading(
    workbench,
    (store) => store.bucketsFor(message).filter(({ origin }) => origin === 'request').length,
  );
  await transcript
    .getByText(new RegExp(`in ${String(requests)} requests?$`, 'u'))
    .first()
    .waitFor();
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 180_000 });
}

const estimate = (transcript: FrameLocator, name: string): Locator =>
  transcript.getByRole('region', { name: 'What it was worth' }).getByRole('row', { name });

scenario(
  'what a message was worth is shown side by side; what was not measured is measured by a click',
  async (workbench) => {
    const { transcript, message } = await openPlan(workbench);
    // Where both plans of the step say the same there is nothing to compare with.
    await eventually('an estimate, or none', async () =>
      /\d\.\d\d|not measured/u.test(await estimate(transcript, 'Replace').innerText()),
    );
    await estimate(transcript, 'Remove')
      .getByText('not measured: it was not replayed with nothing in its place')
      .waitFor();
    await estimate(transcript, 'Remove').getByRole('button', { name: 'Replay the empty message' }).click();
    await eventually(
      'the empty message',
      () =>
        newestRequest(workbench, message)?.alternatives.some(
          ({ finish, text, returns }) => finish === 'typed' && text === '' && returns.length === 2,
        ),
      120_000,
    );
    await finished(workbench, transcript, message);
    // Two returns with the message, two with nothing in its place.
    await eventually(
      'remove is measured',
      async () =>
        /\b4\b.*\b4\b/su.test(await estimate(transcript, 'Remove').innerText()) &&
        !(await estimate(transcript, 'Remove').innerText()).includes('not measured'),
    );
    assert.equal(newestRequest(workbench, message)?.continuation, null);
  },
);

scenario(
  'from the keyboard alone a message is continued with another snapshot at another temperature, and that is marked',
  async (workbench) => {
    const { transcript, message } = await openPlan(workbench);
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
    await finished(workbench, transcript, message);
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
