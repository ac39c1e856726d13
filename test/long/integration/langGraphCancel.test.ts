/** A program of LangGraph and nothing else: it is recorded, and the search for the message that lost it begins. */

import assert from 'node:assert/strict';
import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { assertFolder, beginSearch, FOLDER } from '../../integration/langGraph.ts';
import { assertQuiet, reading } from '../../integration/team.ts';

const scenario = workbenchScenarios({ files: FOLDER });

scenario(
  'a LangGraph program is recorded, and the search for the message that lost it is begun and cancelled',
  async (workbench) => {
    await beginSearch(workbench);
    const searching = workbench.notification(/Finding the message that lost it/u);
    await searching.getByRole('button', { name: 'Cancel' }).click();
    await searching.waitFor({ state: 'detached' });
    assert.equal(await workbench.notification(/lost it: the chance|fail|error/iu).count(), 0);
    const roles = reading(workbench, (store) => {
      const [run] = store.runs(0, 1);
      const [episode] = store.episodes({ run: run?.id ?? '', phase: 'evaluate', iteration: 2, offset: 0, limit: 1 });
      return store.chain(episode?.leaf ?? 0).map(({ role }) => role);
    });
    assert.deepEqual(roles, ['namer', 'planner', 'solver']);
    assertFolder(workbench);
    assertQuiet(workbench);
  },
);
