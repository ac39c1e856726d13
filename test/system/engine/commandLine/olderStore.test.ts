/** A store that the version before made: commands that write bring it up to date, whatever they read first. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { SPENDING } from '../../../../src/store/tables/spending.ts';
import { c3, copyOf, makeWorkspace } from '../../../unit/engine/workspace.ts';
import { makeEarlier } from '../../../unit/store/earlierStore.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
  const { code, stderr } = await c3(workspace, ['run', 'tiny.c3.yaml', '--override', 'steps=1', '--json']);
  assert.equal(code, 0, stderr);
  const db = new (loadSqlite())(join(workspace, '.c3', 'c3.sqlite'));
  makeEarlier(db, SPENDING);
  db.close();
  rmSync(join(workspace, '.c3', 'c3.sqlite.seal'), { force: true });
});
after(() => rmSync(workspace, { recursive: true, force: true }));

for (const [what, args] of [
  ['verify', ['verify', '--json']],
  ['note', ['note', '2', '--tags', 'odd']],
  ['replay', ['replay', '1', '--alternatives', '1', '--replays', '1', '--json']],
] as const) {
  it(`c3 ${what} brings an older store up to date, and a command that only reads says how`, async (t) => {
    const folder = copyOf(t, workspace);
    const read = await c3(folder, ['diagnose', '--run', 'none', '--json']);
    assert.match(read.stderr, /is of the older version \d+: start the engine/);
    const { code, stdout, stderr } = await c3(folder, args);
    assert.equal(code, 0, stderr);
    if (what === 'verify') {
      assert.match(stdout, /"different":0,"notComparable":0/);
    }
  });
}
