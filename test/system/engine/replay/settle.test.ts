/** `c3 replay --settle` on the real runtime: what it spends, what it prints, what it refuses. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Replay } from '../../../../src/domain/replay.ts';
import { toHeadlineJson } from '../../../../src/shared/credit/headline.ts';
import { connect } from '../../../../src/store/files/sqlite.ts';
import {
  c3,
  copyOf,
  errorOf,
  finished,
  makeWorkspace,
  parseLine,
  startC3,
  withStore,
} from '../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  run = String(
    parseLine(
      (
        await c3(workspace, [
          'run',
          'tiny.c3.yaml',
          '--json',
          '--override',
          'seed=3',
          '--override',
          'evaluation.instances=0',
        ])
      ).stdout,
    )['run'],
  );
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
const list = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : assert.fail(`no list: ${JSON.stringify(value)}`);
/** Numbers that the message and another alternative were both continued on. */
const pairsIn = (replays: readonly Replay[], message: number): number[] => {
  const own = new Set(
    replays.filter(({ alternative }) => alternative === message).map(({ replayIndex }) => replayIndex),
  );
  return replays
    .filter(({ alternative, replayIndex }) => alternative !== message && own.has(replayIndex))
    .map(({ replayIndex }) => replayIndex);
};
const messageAt = (folder: string, bucket: number): number =>
  withStore(folder, (store) => store.bucketsOfRun({ run, offset: bucket, limit: 1 })[0]?.alternatives[0]?.message ?? 0);

describe('c3 replay --settle', () => {
  it('spends no more than it may, in pairs, and what it spent can be executed again', async (t) => {
    const folder = copyOf(t, workspace);
    for (const [position, perPair] of [
      [0, 2],
      [1, 1],
    ] as const) {
      const result = await c3(folder, [
        'replay',
        String(messageAt(folder, position)),
        '--settle',
        '--at-most',
        '13',
        '--json',
      ]);
      assert.equal(result.code, 0, result.stderr);
      const document = parseLine(result.stdout);
      assert.equal(document['design'], 'paired');
      const spent = Number(document['spent']);
      const alternatives = list(document['alternatives']);
      assert.equal(spent, alternatives.length * perPair);
      assert.ok(spent > 0 && spent <= 13);
      const own = list(field(document['original'], 'returns'));
      assert.equal(own.length, perPair === 2 ? alternatives.length : 1);
      for (const one of alternatives) {
        assert.deepEqual([list(field(one, 'returns')).length, field(one, 'verified')], [1, true]);
      }
      assert.equal(document['draws'], perPair === 2 ? 'paired' : null);
    }
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--json'])).stdout);
    assert.deepEqual(
      [verified['different'], verified['notComparable'], verified['identical']],
      [0, 0, verified['checked']],
    );
  });

  it('says in words what it spent and what that showed', async (t) => {
    const folder = copyOf(t, workspace);
    const { stdout } = await c3(folder, ['replay', String(messageAt(folder, 0)), '--settle', '--at-most', '4']);
    assert.match(stdout, /\nSpent 4 of at most 4 replays: \S/u);
    assert.match(stdout, /\nDrawn with common random numbers, in pairs: /u);
  });

  it('keeps what arrived when it is killed, and its credit is that of what arrived', async (t) => {
    const folder = copyOf(t, workspace);
    const message = messageAt(folder, 0);
    const db = connect(join(folder, '.c3', 'c3.sqlite'), 'read');
    t.after(() => db.close());
    const stored = db
      .prepare<[], number>(
        "SELECT count(*) FROM replay JOIN bucket ON bucket.id = replay.bucket WHERE origin = 'request'",
      )
      .pluck();
    const child = startC3(folder, ['replay', String(message), '--settle', '--at-most', '1000']);
    const ended = finished(child);
    // In the third chunk at the earliest.
    while ((stored.get() ?? 0) < 34 && child.exitCode === null) {
      await setImmediate();
    }
    child.kill('SIGKILL');
    await ended;
    assert.ok((stored.get() ?? 0) >= 34);
    const next = await c3(folder, ['replay', String(message), '--alternatives', '1', '--replays', '1', '--json']);
    assert.equal(next.code, 0, next.stderr);
    const [credit, found] = withStore(folder, (store) => {
      const requests = store.bucketsFor(message).filter(({ origin }) => origin === 'request');
      assert.equal(requests.length, 2);
      return [store.message(message).credit, requests.flatMap(({ id }) => pairsIn(store.replaysOfBucket(id), message))];
    });
    // The training bucket of the message has units of its own.
    assert.ok(
      credit !== null && credit.effectiveN >= found.length && found.length >= 17,
      JSON.stringify([credit, found.length]),
    );
    assert.deepEqual(field(parseLine(next.stdout)['original'], 'credit'), toHeadlineJson(credit));
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--json'])).stdout);
    assert.deepEqual(
      [verified['different'], verified['notComparable'], verified['identical']],
      [0, 0, verified['checked']],
    );
  });

  it('refuses in one sentence what does not go with it, and changes nothing', async () => {
    const counted = (): unknown => withStore(workspace, (store) => store.counts());
    const before = counted();
    const message = String(messageAt(workspace, 0));
    for (const [options, expected] of [
      [['--settle', '--text', 'mine'], /settled against sampled messages only/],
      [['--settle', '--independent'], /leave out the independent ones/],
      [['--settle', '--at-most', '3'], /from 4 to 1,000/],
      [['--settle', '--at-most', '1001'], /from 4 to 1,000/],
      [['--settle', '--alternatives', '3'], /omit --alternatives/],
      [['--at-most', '12'], /add --settle/],
    ] as const) {
      const result = await c3(workspace, ['replay', message, ...options]);
      assert.equal(result.code, 2, options.join(' '));
      assert.match(errorOf(result), expected);
    }
    assert.deepEqual(counted(), before);
  });
});
