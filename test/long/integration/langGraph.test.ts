/** From a folder with nothing but a program of LangGraph to the message that lost its episode. */

import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertFolder, beginSearch, FOLDER } from '../../integration/langGraph.ts';
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
    assertQuiet(workbench);
  },
);
