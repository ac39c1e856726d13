/** Every way in which a team may be broken, where a store is. */

import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { BROKEN_TEAMS, refusesBesideStore } from '../../../../system/engine/commandLine/refusals.ts';
import { makeWorkspace } from '../../../../unit/engine/workspace.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

describe('a store', () => {
  for (const name of Object.keys(BROKEN_TEAMS) as (keyof typeof BROKEN_TEAMS)[]) {
    it(`stays as it was where ${name}`, (t) => refusesBesideStore(t, workspace, name));
  }
});
