/** `c3 replay` and `c3 verify`: what they print, and what is stored. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { tamper } from '../../../support/tamper.ts';
import { c3, copyOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';
import { field, isInterval, list, succeeded } from './documents.ts';

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  const ran = await c3(workspace, ['run', 'tiny.c3.yaml', '--json', '--override', 'seed=3']);
  run = String(parseLine(ran.stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

describe('c3 replay', () => {
  it('prints alternatives with returns, credits, calls and what verification found', async (t) => {
    const folder = copyOf(t, workspace);
    for (const [position, replays] of [
      [0, 2],
      [1, 1],
    ] as const) {
      const message = withStore(
        folder,
        (store) => store.bucketsOfRun({ run, offset: position, limit: 1 })[0]?.alternatives[0]?.message ?? 0,
      );
      const result = await c3(folder, [
        'replay',
        String(message),
        '--alternatives',
        '3',
        '--replays',
        '2',
        '--text',
        '#### 5',
        '--json',
      ]);
      succeeded(result);
      const document = parseLine(result.stdout);
      assert.equal(document['message'], message);
      const alternatives = list(document['alternatives']);
      assert.equal(alternatives.length, 4);
      const returns = [document['original'], ...alternatives].map((one) => list(field(one, 'returns')).map(Number));
      for (const [index, one] of [document['original'], ...alternatives].entries()) {
        assert.equal(returns[index]?.length, replays);
        // What an equal alternative has shown already is not paid for again.
        const calls = Number(field(one, 'evaluatorCalls'));
        assert.ok(index === 0 ? calls > 0 : calls >= 0 && calls <= replays);
        assert.equal(field(one, 'verified'), true);
        assert.ok(isInterval(field(one, 'credit')));
      }
      // The typed message is in no other bucket: its credit is its mean return less that of the messages drawn here;
      // the original and itself are in no baseline.
      const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
      const typed = field(field(alternatives[3], 'credit'), 'value');
      assert.ok(Math.abs(Number(typed) - (mean(returns[4] ?? []) - mean(returns.slice(1, 4).flat()))) < 1e-12);
      assert.equal(field(alternatives[3], 'text'), '#### 5');
      assert.equal(
        field(document['original'], 'text'),
        withStore(folder, (store) => store.message(message).text),
      );
      assert.equal(
        document['bucket'],
        withStore(folder, (store) => store.bucketsFor(message).at(-1)?.id),
      );
    }
  });

  it('shows one line for each alternative in words', async (t) => {
    const folder = copyOf(t, workspace);
    const message = withStore(
      folder,
      (store) => store.bucketsOfRun({ run, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0,
    );
    const { code, stdout } = await c3(folder, ['replay', String(message), '--alternatives', '2', '--replays', '2']);
    assert.equal(code, 0);
    assert.equal(
      stdout.split('\n').filter((line) => / returns [01] [01] +credit [+-]\d\.\d{3} \[/.test(line)).length,
      3,
    );
  });
});

describe('c3 verify', () => {
  it('re-executes everything, or a sample', async (t) => {
    const folder = copyOf(t, workspace);
    const all = await c3(folder, ['verify', '--json']);
    succeeded(all);
    assert.deepEqual(parseLine(all.stdout), {
      checked: 64,
      identical: 64,
      different: 0,
      notComparable: 0,
      firstDifference: null,
      firstReason: null,
    });
    const some = await c3(folder, ['verify', '--run', run, '--sample', '7', '--json']);
    assert.equal(parseLine(some.stdout)['checked'], 7);
    assert.match(
      (await c3(folder, ['verify', '--sample', '3'])).stdout,
      /^3 replays of c3-3-\w+ re-executed: 3 identical, 0 different, 0 not comparable\n$/,
    );
  });

  it('fails, and says where, when a stored message was changed', async (t) => {
    const folder = copyOf(t, workspace);
    const victim = withStore(folder, (store) => store.replaysOfRun(run, 0, 1)[0]?.leaf ?? 0);
    const db = new (loadSqlite())(join(folder, '.c3', 'c3.sqlite'));
    tamper(db, `UPDATE decision SET tokens = CAST(x'01000000' || substr(tokens, 5) AS BLOB) WHERE id = ${victim}`);
    db.close();
    const { code, stdout } = await c3(folder, ['verify', '--json']);
    assert.equal(code, 1);
    const report = parseLine(stdout);
    assert.deepEqual(
      [
        report['different'],
        report['identical'],
        field(report['firstDifference'], 'message'),
        field(report['firstDifference'], 'token'),
      ],
      [2, 62, victim, 0],
    );
    // One that differs is enough.
    const one = await c3(folder, ['verify', String(victim), '--json']);
    assert.deepEqual([one.code, parseLine(one.stdout)['different']], [1, 1]);
  });

  it('cannot compare where weights were taken away, and says why', async (t) => {
    const folder = copyOf(t, workspace);
    rmSync(join(folder, 'team', 'model.safetensors'));
    // The store names the folder that the run was started in.
    const db = new (loadSqlite())(join(folder, '.c3', 'c3.sqlite'));
    db.exec(`UPDATE run SET config = replace(config, '${workspace}', '${folder}')`);
    db.close();
    const result = await c3(folder, ['verify', '--json']);
    succeeded(result);
    const { firstReason, ...counts } = parseLine(result.stdout);
    assert.deepEqual(counts, { checked: 64, identical: 0, different: 0, notComparable: 64, firstDifference: null });
    assert.match(String(firstReason), /^The weights of snapshot \w+ cannot be loaded|cannot be re-executed/);
    withStore(folder, (store) => {
      assert.match(
        store.verifications(1)[0]?.detail ?? '',
        /^The weights of snapshot \w{12} cannot be loaded: Cannot read .*model\.safetensors/,
      );
    });
  });
});
