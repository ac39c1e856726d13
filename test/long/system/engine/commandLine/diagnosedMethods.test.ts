/** `c3 diagnose` of runs of every method, by the baseline that it has. */

import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { DIAGNOSED_METHODS, diagnosesMethod } from '../../../../system/engine/commandLine/diagnosedMethod.ts';
import { makeWorkspace } from '../../../../unit/engine/workspace.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

describe('c3 diagnose', () => {
  for (const method of Object.keys(DIAGNOSED_METHODS) as (keyof typeof DIAGNOSED_METHODS)[]) {
    it(`measures a run of ${method}`, (t) => diagnosesMethod(t, workspace, method));
  }
});
