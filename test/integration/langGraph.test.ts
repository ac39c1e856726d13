/**
 * From a folder with nothing but a program of LangGraph to the message that lost its episode, in a real VS Code:
 * counted in actions. The planner may say one token only, and what it leaves out decides the end.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, paneReady, reading } from './team.ts';

const MOST_ACTIONS = 10;
const ROOT = join(import.meta.dirname, '..', '..');
const ANSWER = '8';

const scenario = workbenchScenarios({
  files: { 'team.mjs': readFileSync(join(ROOT, 'test', 'programs', 'threeAgents.mjs'), 'utf8') },
});

scenario(
  'a LangGraph program and a folder lead to the message that lost it in at most ten actions',
  async (workbench) => {
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
    await transcript.getByRole('button', { name: 'Cancel' }).first().waitFor();
    await workbench.notification(/Finding the message that lost it: namer, 1 of 3/u).waitFor();
    assert.ok(await find.isDisabled());
    await workbench.screenshot('langgraph-replaying');

    await eventually(
      'the message that lost it',
      () => workbench.notification(/The message of planner lost it: credit −/u).isVisible(),
      600_000,
    );
    assert.ok(actions <= MOST_ACTIONS, `${String(actions)} actions`);
    await transcript.locator('.why summary', { hasText: 'Why it was lost: planner hurt' }).waitFor();
    await transcript.locator('[role="treeitem"][aria-selected="true"][aria-label^="planner"]').waitFor();
    await paneReady(transcript);
    await workbench.screenshot('langgraph-found');

    // The others were compared as well, and nothing is known against them.
    const credits = reading(workbench, (store) => {
      const [run] = store.runs(0, 1);
      const [episode] = store.episodes({ run: run?.id ?? '', phase: 'evaluate', iteration: 2, offset: 0, limit: 1 });
      return store.chain(episode?.leaf ?? 0).map(({ eventType, credit }) => ({ role: eventType, credit }));
    });
    assert.deepEqual(
      credits.map(({ role, credit }) => [role, credit?.verdict]),
      [
        ['namer', 'undecided'],
        ['planner', 'hurt'],
        ['solver', 'undecided'],
      ],
    );
    for (const { role, credit } of credits.filter(({ credit }) => credit?.verdict === 'undecided')) {
      assert.ok((credit?.low ?? 1) <= 0 && (credit?.high ?? -1) >= 0, role);
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => !name.startsWith('.')),
      ['node_modules', 'team.mjs', 'team.yaml'],
    );
    assertQuiet(workbench);
  },
);
