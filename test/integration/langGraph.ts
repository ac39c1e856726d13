/**
 * From a folder with nothing but a program of LangGraph to the message that lost its episode, counted in actions. The
 * planner may say one token only, and what it leaves out decides the end.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import type { Workbench } from './harness/workbench.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ANSWER = '8';

/** The files of the folder. */
export const FOLDER = { 'team.mjs': readFileSync(join(ROOT, 'test', 'programs', 'threeAgents.mjs'), 'utf8') };

export interface Search {
  readonly transcript: FrameLocator;
  /** What the user has done so far. */
  readonly actions: number;
}

/** Records the program, and begins to look for the message that lost its episode. */
export async function beginSearch(workbench: Workbench): Promise<Search> {
  const { page, folder } = workbench;
  // What `npm install` gives a user.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  let actions = 0;
  const act = async (deed: () => Promise<void>): Promise<void> => {
    await deed();
    actions++;
  };
  const input = page.locator('.quick-input-widget:visible');

  await act(() => workbench.runCommand('C3: Record agents'));
  await input.getByText('Record agents (1 of 4)').waitFor();
  assert.equal(await input.locator('input.input').inputValue(), 'node team.mjs');
  await workbench.screenshot('langgraph-command');
  await act(() => page.keyboard.press('Enter'));
  await input.getByText('Record agents (2 of 4)').waitFor();
  await workbench.screenshot('langgraph-model');
  await act(() => workbench.pick('The bundled team for arithmetic'));
  await input.getByText('Record agents (3 of 4)').waitFor();
  await workbench.screenshot('langgraph-answer');
  await act(() => workbench.answer(ANSWER));
  await input.getByText('Record agents (4 of 4)').waitFor();
  await act(() => workbench.pick('Mask keys'));
  await workbench.notification(/1 episode from the calls of a program, with 3 messages/u).waitFor();

  const transcript = await workbench.webview(/^Problem/u);
  const find = transcript.getByRole('button', { name: 'Find the message that lost it' });
  await find.waitFor();
  await workbench.screenshot('langgraph-recorded');
  await act(() => find.click());
  const box = page.locator('.monaco-dialog-box');
  await box.getByText('This message was recorded elsewhere').waitFor();
  await workbench.screenshot('langgraph-again');
  await act(() => box.getByRole('button', { name: 'Start Program Again' }).click());
  await input.getByText('Start program again').waitFor();
  assert.equal(await input.locator('input.input').inputValue(), 'node team.mjs');
  await act(() => page.keyboard.press('Enter'));
  await workbench.notification(/Finding the message that lost it: \d+ of at most 96 calls/u).waitFor();
  await workbench.screenshot('langgraph-replaying');
  return { transcript, actions };
}

/** Beside the program the folder has the team that was recorded, and nothing else that shows. */
export function assertFolder({ folder }: Workbench): void {
  assert.deepEqual(
    readdirSync(folder).filter((name) => !name.startsWith('.')),
    ['node_modules', 'team.mjs', 'team.yaml'],
  );
}
