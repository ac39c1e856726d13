/** From a folder with nothing but a program of LangGraph to the message that lost its episode. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertFolder, beginSearch, FOLDER } from '../../integration/langGraph.ts';
import { answerPath } from '../../integration/pathDialog.ts';
import { assertQuiet, paneReady, reading } from '../../integration/team.ts';

const MOST_ACTIONS = 10;

const scenario = workbenchScenarios({ files: FOLDER });

scenario(
  'a LangGraph program and a folder lead to the message that lost it in at most ten actions',
  async (workbench) => {
    const { transcript, actions } = await beginSearch(workbench);
    await eventually(
      'the message that lost it',
      () => workbench.notification(/The planner lost it: the chance of success fell from/u).isVisible(),
      600_000,
    );
    assert.ok(actions <= MOST_ACTIONS, `${actions} actions`);
    await transcript.locator('.why summary', { hasText: 'Why it was lost: planner hurt' }).waitFor();
    await transcript.locator('[role="treeitem"][aria-selected="true"][aria-label^="planner"]').waitFor();
    await paneReady(transcript);
    await workbench.screenshot('langgraph-found');

    // Nothing is known against the others.
    const credits = reading(workbench, (store) => {
      const [run] = store.runs(0, 1);
      const [episode] = store.episodes({ run: run?.id ?? '', phase: 'evaluate', iteration: 2, offset: 0, limit: 1 });
      return store.chain(episode?.leaf ?? 0).map(({ role, credit }) => ({ role, credit }));
    });
    assert.deepEqual(
      credits.filter(({ credit }) => credit?.verdict === 'hurt').map(({ role }) => role),
      ['planner'],
    );
    assertFolder(workbench);

    // Whether a change of the program's models helps: with one token each, nobody can solve it.
    const { page, folder } = workbench;
    await workbench.runCommandAndPick('C3: Try a change', 'The whole team', 'Longest message');
    await workbench.answer('1');
    await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Choose Team File' }).click();
    await answerPath(workbench, 'Team file of the recorded agents', 'Replay', join(folder, 'team.yaml'));
    await workbench.notification(/Trying the change: \d+ of at most 200 calls/u).waitFor({ timeout: 120_000 });
    await workbench.notification('Trying the change').waitFor({ state: 'hidden', timeout: 600_000 });
    const trial = await workbench.webview('Trial');
    await trial.getByRole('heading', { level: 1, name: /^The change harms: / }).waitFor();
    // No configuration can have it.
    await trial.getByRole('button', { name: 'Try on lost problems' }).waitFor();
    assert.equal(await trial.getByRole('button', { name: 'Keep' }).count(), 0);
    await workbench.screenshot('langgraph-tried');
    assertQuiet(workbench);
  },
);
