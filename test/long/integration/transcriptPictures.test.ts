/**
 * The transcript for people: pictures of what it shows in all themes and on small screens, and the rules of
 * accessibility in each theme.
 */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { findings } from '../../integration/axe.ts';
import { workbenchScenarios, type Theme, type Workbench } from '../../integration/harness/workbench.ts';
import { addLostEpisodes, LOST_QUESTIONS } from '../../integration/lostEpisodes.ts';
import { addTexts, TEXTS_QUESTION } from '../../integration/messageTexts.ts';
import {
  assertQuiet,
  choose,
  chooseOption,
  firstPlan,
  openFromEpisodes,
  openLane,
  transcriptOf,
} from '../../integration/team.ts';

const scenario = workbenchScenarios({
  recording: 'arithmeticPaired',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const THEMES: readonly Theme[] = ['light', 'highContrast', 'dark'];
const WIDTHS = [1920, 1280, 800, 640] as const;
const ROW = '[role="treeitem"]';

/** Pictures in all themes, and in the last of them at all widths; axe-core finds nothing. */
async function tour(workbench: Workbench, panel: FrameLocator, name: string): Promise<void> {
  for (const theme of THEMES) {
    await workbench.screenshot(name, theme);
    assert.deepEqual(await findings(panel), [], `${name}, ${theme}`);
  }
  for (const width of WIDTHS) {
    await workbench.page.setViewportSize({ width, height: width === 640 ? 400 : 800 });
    await workbench.screenshot(`${name}-${width}`);
  }
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
}

async function openPlan(workbench: Workbench): Promise<FrameLocator> {
  const { question } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'reasoner');
  return transcript;
}

async function replayed(transcript: FrameLocator): Promise<void> {
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  await transcript.getByRole('region', { name: 'Replayed alternatives' }).first().waitFor();
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden' });
}

scenario('replayed alternatives, with a lane in the tree', async (workbench) => {
  const transcript = await openPlan(workbench);
  await replayed(transcript);
  await openLane(transcript, 'reasoner');
  await tour(workbench, transcript, 'transcript');
});

scenario('a comparison', async (workbench) => {
  const transcript = await openPlan(workbench);
  const tree = transcript.getByRole('tree');
  for (const index of [1, 2]) {
    await transcript.locator(`${ROW}[aria-label^="actor ${index} of 2"]`).first().click();
    await tree.press('c');
  }
  await transcript.getByRole('region', { name: 'Comparison' }).waitFor();
  await tour(workbench, transcript, 'comparison');
  await transcript.getByRole('region', { name: 'Comparison' }).getByRole('button', { name: 'Close' }).click();
});

scenario('a search, a filter, and the sheet of keys', async (workbench) => {
  const transcript = await openPlan(workbench);
  const tree = transcript.getByRole('tree');
  const field = transcript.getByRole('searchbox', { name: 'Search messages' });
  await field.fill('total');
  await field.press('Enter');
  await transcript.getByText(/^\d+ \/ \d+|no match/u).waitFor();
  await tour(workbench, transcript, 'search');
  await field.fill('');
  await chooseOption(transcript, 'Role', 'reasoner', { exact: true });
  await transcript.locator('.matching', { hasText: 'messages' }).waitFor();
  await tour(workbench, transcript, 'filter');
  await transcript.getByRole('button', { name: 'Clear filters' }).click();
  await tree.press('?');
  await transcript.getByRole('dialog', { name: 'Keys of the message tree' }).waitFor();
  await tour(workbench, transcript, 'keys');
  await tree.press('Escape');
});

scenario('the words of credit explained, and the form that continues otherwise', async (workbench) => {
  const transcript = await openPlan(workbench);
  const tip = transcript.getByRole('tooltip');
  const word = transcript.locator('.detail').getByRole('button', { name: 'effective n' }).first();
  for (const theme of THEMES) {
    await workbench.setTheme(theme);
    await word.focus();
    await tip.waitFor();
    await workbench.screenshot(`glossary-${theme}`);
  }
  await word.press('Escape');
  await transcript.locator('.continue-with > summary').click();
  await transcript.getByRole('combobox', { name: 'Snapshot' }).press('ArrowDown');
  await transcript.getByText('another continuation distribution', { exact: true }).first().waitFor();
  await transcript.locator('.continue-with').scrollIntoViewIfNeeded();
  await tour(workbench, transcript, 'continue-with');
  await replayed(transcript);
  await transcript.getByRole('region', { name: 'Replayed alternatives' }).first().scrollIntoViewIfNeeded();
  await tour(workbench, transcript, 'other-distribution');
});

scenario('why an episode was lost', async (workbench) => {
  addLostEpisodes(workbench.folder);
  await workbench.runCommand('C3: Refresh');
  await openFromEpisodes(workbench, LOST_QUESTIONS.decided, 'Tiny');
  const transcript = await workbench.webview(new RegExp(`^${LOST_QUESTIONS.decided}`, 'u'));
  await transcript.locator('.why').getByText('Decisive message').waitFor();
  await tour(workbench, transcript, 'why-lost');
});

scenario('prose, code and mathematics', async (workbench) => {
  addTexts(workbench.folder, 4);
  await workbench.runCommand('C3: Refresh');
  await openFromEpisodes(workbench, 'uid:texts');
  const transcript = await workbench.webview(new RegExp(`^${TEXTS_QUESTION}`, 'u'));
  const text = transcript.getByRole('group', { name: 'Text', exact: true });
  await transcript.locator(`${ROW}[aria-label*="First write"]`).first().click();
  await text.locator('math').nth(3).waitFor();
  await tour(workbench, transcript, 'message-text');
  await workbench.page.setViewportSize({ width: 800, height: 900 });
  await text.locator('menclose').scrollIntoViewIfNeeded();
  await workbench.screenshot('message-text-end-800');
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
  assertQuiet(workbench);
});
