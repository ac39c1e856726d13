/** `c3 note MESSAGE`: a score, a note and tags of an imported episode, from the command to what readers say. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { c3, errorOf, withStore, type Finished } from '../../../unit/engine/workspace.ts';

/** A folder whose store has a log of two episodes without scores: messages 1 and 2, and message 3. */
async function recorded(t: TestContext): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-note-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const said = (name: string, content: string): object => ({ role: 'assistant', name, content });
  const lines = [
    { messages: [{ role: 'user', content: 'How far?' }, said('planner', 'I look.'), said('solver', 'Twelve.')] },
    { messages: [{ role: 'user', content: 'How long?' }, said('solver', 'An hour.')] },
  ];
  writeFileSync(join(folder, 'log.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'));
  assert.equal((await c3(folder, ['import', 'log.jsonl'])).code, 0);
  return folder;
}

const note = (folder: string, ...args: readonly string[]): Promise<Finished> => c3(folder, ['note', ...args]);

test('an imported episode without a score is scored, noted, tagged, and its score taken back', async (t) => {
  const folder = await recorded(t);
  const first = await note(folder, '1', '--score', '0', '--tags', 'odd, late', '--note', 'It never counted.', '--json');
  assert.deepEqual(JSON.parse(first.stdout), {
    ...{ episode: 2, score: 0, note: 'It never counted.', tags: ['odd', 'late'], isReturn: true },
  });
  const second = await note(folder, '2', '--score', '0.5');
  assert.equal(
    second.stdout,
    'episode 2, scored by hand: 0.5, which is its return\nodd, late\nIt never counted.\n',
    'what is left out stays',
  );
  const run = withStore(folder, (store) => {
    assert.deepEqual([store.message(1).return, store.message(3).return], [0.5, null]);
    return store.messageRun(1);
  });
  const page = join(folder, 'message.json');
  assert.equal((await c3(folder, ['report', '--message', '2', '--out', page])).code, 0);
  // Who goes on with a recording is not known, but that it was lost is: without a score, nothing would be.
  assert.match(errorOf(await c3(folder, ['blame', '2'])), /Give --team FILE/u);
  const third = await note(folder, '2', '--score', 'none', '--tags', '');
  assert.equal(third.stdout, 'episode 2, no score by hand\nIt never counted.\n');
  assert.equal(
    withStore(folder, (store) => store.message(2).return),
    null,
  );
  assert.equal((await note(folder, run, '--tags', 'mine')).code, 0, 'a run is noted as before');
});

test('what cannot be said of an episode is refused with a reason, and nothing is stored', async (t) => {
  const folder = await recorded(t);
  for (const [args, reason] of [
    [['2', '--score', '1.5'], /from 0 to 1/],
    [['2', '--score=-1'], /from 0 to 1/],
    [['2', '--score', 'NaN'], /needs a number, or none/],
    [['2', '--score', ''], /needs a number, or none/],
    [['99', '--score', '1'], /message 99/],
    [['2', '--note', 'x'.repeat(10_001)], /up to 10,000 characters/],
    [['2', '--title', 'mine', '--score', '1'], /has no title/],
    [['2'], /needs --score, --note or --tags/],
    [['some-run', '--score', '1'], /takes --score for an episode/],
  ] as const) {
    const refused = await note(folder, ...args);
    assert.match(errorOf(refused), reason);
    assert.equal(refused.code, 2, args.join(' ').slice(0, 60));
  }
  assert.equal(
    withStore(folder, (store) => store.episodeNote(2)),
    null,
  );
  const empty = mkdtempSync(join(tmpdir(), 'c3-note-'));
  t.after(() => rmSync(empty, { recursive: true, force: true }));
  assert.match(errorOf(await note(empty, '2', '--score', '1')), /no store/u);
  assert.equal(existsSync(join(empty, '.c3')), false, 'no store is made for an episode that is not there');
});

test('an episode is scored once another writer has closed the store', async (t) => {
  const folder = await recorded(t);
  const other = openStoreForWriting(join(folder, '.c3', 'c3.sqlite'));
  const scored = note(folder, '3', '--score', '1');
  setImmediate(() => other.close());
  assert.equal((await scored).stdout, 'episode 3, scored by hand: 1, which is its return\n');
});
