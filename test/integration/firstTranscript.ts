/** The transcript of the first training episode of a recorded run, and what is replayed in it. */

import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import type { BucketView } from '../../src/domain/replay.ts';
import { eventually, type Workbench, type WorkbenchOptions } from './harness/workbench.ts';
import { choose, firstPlan, reading, transcriptOf } from './team.ts';

/** Of a window whose replays are few. */
export const FEW_REPLAYS: WorkbenchOptions = {
  recording: 'arithmetic',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
};

export const ROW = '[role="treeitem"]';

interface FirstEpisode {
  readonly question: string;
  /** The answer that was scored. */
  readonly leaf: number;
  readonly actor: string;
  /** The plan above it. */
  readonly planId: number;
  readonly plans: readonly { readonly id: number; readonly text: string; readonly context: string }[];
  /** The answers under the first plan. */
  readonly answers: readonly { readonly text: string }[];
}

/** The first training episode of the recorded run, as the store has it. */
export function firstEpisode(workbench: Workbench): FirstEpisode {
  return reading(workbench, (store) => {
    const run = store.runs(0, 1)[0]?.id ?? '';
    const [episode] = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    assert.ok(episode);
    const { question, leaf, problem } = episode;
    const [plan, actor] = store.chain(leaf);
    assert.ok(plan && actor);
    const { messages } = store.transcript({ run, phase: 'train', iteration: 1, problem, offset: 0, limit: 100 });
    const plans = messages
      .filter(({ parent }) => parent === null)
      .map(({ id, text }) => ({ id, text, context: store.fullMessage(id).context }));
    const answers = messages.filter(({ parent }) => parent === plans[0]?.id);
    return { question, leaf, actor: actor.text, planId: plan.id, plans, answers };
  });
}

export async function openFirst(
  workbench: Workbench,
): Promise<{ readonly transcript: FrameLocator; readonly episode: FirstEpisode }> {
  const episode = firstEpisode(workbench);
  const transcript = await transcriptOf(workbench, episode.question);
  await transcript.locator(`${ROW}[aria-label^="actor 1 of 2"]`).first().waitFor();
  return { transcript, episode };
}

interface OpenPlan {
  readonly transcript: FrameLocator;
  /** The first plan. */
  readonly message: number;
}

/** The transcript at its first plan. */
export async function openPlan(workbench: Workbench): Promise<OpenPlan> {
  const { question, message } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  // By way of another row: its form is as offered.
  await choose(transcript, 'actor');
  await choose(transcript, 'reasoner');
  return { transcript, message };
}

/** The replays of a message that were asked for, the newest last. */
export const requests = (workbench: Workbench, message: number): readonly BucketView[] =>
  reading(workbench, (store) => store.bucketsFor(message).filter(({ origin }) => origin === 'request'));
export const newestRequest = (workbench: Workbench, message: number): BucketView | undefined =>
  requests(workbench, message).at(-1);
export const field = (transcript: FrameLocator, name: string): Locator =>
  transcript.getByRole('textbox', { name, exact: true });
export const press = (transcript: FrameLocator, name: string): Locator =>
  transcript.getByRole('button', { name, exact: true });
/** What a message was worth by an estimator. */
export const estimate = (transcript: FrameLocator, name: string): Locator =>
  transcript.getByRole('region', { name: 'What it was worth' }).getByRole('row', { name });

/** Replays the first plan by its key, as the settings ask, and waits for the end. */
export async function replayByKey(
  workbench: Workbench,
  { transcript, episode }: Awaited<ReturnType<typeof openFirst>>,
): Promise<void> {
  const tree = transcript.getByRole('tree');
  await choose(transcript, 'actor');
  await tree.press('Home');
  await tree.press('ArrowDown');
  // The pane still shows the actor: the key replays the row that has the keyboard.
  await tree.press('r');
  await transcript.getByRole('heading', { name: 'reasoner' }).waitFor();
  // The settings ask for 3 alternatives with 2 replays each; the original is among them.
  await eventually(
    'the end of the replay',
    async () =>
      newestRequest(workbench, episode.planId)?.alternatives.length === 4 &&
      !(await transcript.getByRole('button', { name: 'Cancel' }).isVisible()),
    120_000,
  );
}

/** Waits until the replays of a message have ended: all that the store knows of, once the page knows of them too. */
export async function finished(workbench: Workbench, { transcript, message }: OpenPlan): Promise<void> {
  await transcript
    .getByText(new RegExp(`in ${requests(workbench, message).length} requests?$`, 'u'))
    .first()
    .waitFor();
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 180_000 });
}
