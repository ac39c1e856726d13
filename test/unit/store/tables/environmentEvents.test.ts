import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { growEpisodes } from '../../../../src/replay/episodes.ts';
import { recordSubtree } from '../../../../src/replay/recordTree.ts';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { examineStore } from '../../../../src/store/repair/examine.ts';
import { salvageStore } from '../../../../src/store/repair/salvage.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { UNIT_RULE } from '../../../support/headlines.ts';
import { problems, NEVER, ROUND, starts, storeFor, world } from '../../replay/helpers.ts';

const ALL = problems(2);
const LOOP = parseProtocol(
  JSON.stringify({
    name: 'loop',
    roles: [{ role: 'solver', prompt: 'Solve.', with_answer: true }],
    rounds: { turns: 3, environment: 'feedback', closing: 'last' },
  }),
  'loop.json',
);

/** A store with two episodes, and what another program then does to its events. */
async function changed(t: TestContext, statement: string | null): Promise<string> {
  const store = storeFor(t, ALL);
  recordSubtree(store, await growEpisodes(world(LOOP).settings, starts(ALL), [], NEVER), LOOP, ROUND);
  store.close();
  if (statement !== null) {
    const db = new (loadSqlite())(store.path);
    const guard = 'environment_event_no_update';
    const sql = db.prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(guard) ?? '';
    db.exec(`DROP TRIGGER ${guard}; ${statement}; ${sql}`);
    db.close();
  }
  return store.path;
}

it('a store with events is healthy, and whole when it is copied', async (t) => {
  const path = await changed(t, null);
  assert.deepEqual(examineStore(path, true).findings, []);
  const copy = join(dirname(path), 'copy.sqlite');
  const event = salvageStore(path, copy, UNIT_RULE).find(({ table }) => table === 'environment_event');
  assert.deepEqual([event?.copied, event?.left], [6, 0]);
});

for (const [what, statement] of [
  ['text', "UPDATE environment_event SET body = 'Changed.' WHERE id = 2"],
  ['data', "UPDATE environment_event SET json = '{' WHERE id = 2"],
] as const) {
  it(`an event whose ${what} was changed is found, and left out of a copy`, async (t) => {
    const path = await changed(t, statement);
    const { findings } = examineStore(path, true);
    assert.ok(
      findings.some((finding) => finding.startsWith('Environment event 2 is not the one that was stored')),
      findings.join('\n'),
    );
    const event = salvageStore(path, join(dirname(path), 'copy.sqlite'), UNIT_RULE).find(
      ({ table }) => table === 'environment_event',
    );
    assert.equal(event?.left, 1);
  });
}

it('a copy for which the disk has no room fails and leaves nothing: no row counts as damaged for it', async (t) => {
  const path = await changed(t, null);
  const database = loadSqlite();
  const db = new database(path, { readonly: true });
  const statements = Object.getPrototypeOf(db.prepare('SELECT 1')) as { run: (...values: unknown[]) => unknown };
  db.close();
  const full = new database.SqliteError('database or disk is full', 'SQLITE_FULL');
  const { run: insert } = statements;
  t.mock.method(statements, 'run', function (this: { readonly source: string }, ...values: unknown[]) {
    if (this.source.startsWith('INSERT INTO text ')) {
      throw full;
    }
    return Reflect.apply(insert, this, values);
  });
  const copy = join(dirname(path), 'copy.sqlite');
  assert.throws(() => salvageStore(path, copy, UNIT_RULE), { kind: 'store', message: /disk .* is full/u });
  assert.equal(existsSync(copy), false);
});
