import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { c3, copyOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  run = String(parseLine((await c3(workspace, ['run', 'tiny.c3.yaml', '--json'])).stdout)['run']);
});
after(() => {
  rmSync(workspace, { recursive: true, force: true });
});

describe('c3 diagnose', () => {
  it('prints one document with the keys of the contract, and measures a sample that it draws', async (t) => {
    const folder = copyOf(t, workspace);
    const plain = parseLine((await c3(folder, ['diagnose', '--run', run, '--json'])).stdout);
    for (const key of ['fidelity', 'variance', 'influence', 'passAtK', 'ledger']) {
      assert.ok(Object.hasOwn(plain, key), key);
    }
    assert.equal(plain['origin'], 'training');
    const drawn = await c3(folder, [
      'diagnose',
      '--run',
      run,
      '--json',
      '--sample',
      '--contexts',
      '2',
      '--alternatives',
      '3',
      '--replays',
      '2',
      '--value-samples',
      '2',
    ]);
    assert.equal(drawn.code, 0, drawn.stderr);
    const sampled = parseLine(drawn.stdout);
    assert.deepEqual([sampled['origin'], sampled['contexts']], ['diagnostic', 2]);
    withStore(folder, (store) => {
      const [first] = store.bucketsOfRun({ run, origin: 'diagnostic', offset: 0, limit: 1 });
      assert.deepEqual(
        first?.alternatives.map(({ returns }) => returns.length),
        [2, 2, 2, 2, 2],
      );
    });
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--json'])).stdout);
    assert.deepEqual([verified['different'], verified['notComparable']], [0, 0]);
  });

  it('measures runs of every method, by the baseline that it has', async (t) => {
    const folder = copyOf(t, workspace);
    for (const [method, estimator, alternatives] of [
      ['c3_full_mean', 'full_mean', 2],
      ['magrpo', 'full_mean', 8],
      ['c3_no_replay', 'loo', 8],
      ['mappo', 'mappo', 8],
    ] as const) {
      const id = String(
        parseLine(
          (
            await c3(folder, [
              'run',
              'tiny.c3.yaml',
              '--json',
              '--override',
              `method=${method}`,
              '--override',
              'steps=3',
              '--override',
              'snapshot_every=3',
            ])
          ).stdout,
        )['run'],
      );
      const found = parseLine((await c3(folder, ['diagnose', '--run', id, '--json'])).stdout);
      assert.deepEqual([found['origin'], found['estimator']], ['training', estimator]);
      withStore(folder, (store) => {
        assert.equal(store.run(id).method, method);
        assert.equal(
          store.bucketsOfRun({ run: id, origin: 'training', offset: 0, limit: 1 })[0]?.alternatives.length,
          alternatives,
        );
      });
      for (const command of [
        ['taxonomy', '--run', id],
        ['export', '--run', id, '--format', 'buckets', '--out', `${method}.jsonl`],
      ]) {
        const { code, stderr } = await c3(folder, command);
        assert.equal(code, 0, `${command.join(' ')}: ${stderr}`);
      }
      // The first weights that a step changed were not kept: that step is executed again. MAPPO's first step teaches
      // its value head alone, so that it makes none.
      assert.equal(
        withStore(folder, (store) => store.snapshotsOfRun(id)[1]?.file),
        null,
        method,
      );
      const verified = parseLine((await c3(folder, ['verify', '--run', id, '--json'])).stdout);
      assert.deepEqual([verified['different'], verified['notComparable']], [0, 0], method);
    }
  });

  it('refuses what it cannot do, in one line', async () => {
    const refusals: [string[], RegExp][] = [
      [['diagnose'], /needs --run RUN/],
      [['diagnose', '--run', 'none'], /no run none/],
      [['diagnose', '--run', run, '--origin', 'x'], /--origin is training, request or diagnostic/],
      [['diagnose', '--run', run, '--contexts', '3'], /--contexts configures sampling; add --sample/],
      [['diagnose', '--run', run, '--origin', 'request'], /has no request buckets/],
      [['export', '--run', run, '--format', 'pdf', '--out', 'x'], /--format with one of buckets, adapter, model/],
      [['import'], /needs the path/],
      [['import', 'absent.jsonl'], /Cannot read .*absent\.jsonl/],
      [['credit', '--estimator', 'lo'], /did you mean loo\?/],
    ];
    for (const [args, pattern] of refusals) {
      const { code, stderr } = await c3(workspace, args);
      assert.deepEqual(
        [code, pattern.test(stderr), stderr.trimEnd().split('\n').length],
        [2, true, 1],
        `${args.join(' ')}: ${stderr}`,
      );
    }
  });

  it('measures an exported and imported run the same', async (t) => {
    const folder = copyOf(t, workspace);
    assert.equal((await c3(folder, ['export', '--run', run, '--format', 'buckets', '--out', 'a.jsonl'])).code, 0);
    const report = parseLine((await c3(folder, ['import', 'a.jsonl', '--json'])).stdout);
    const imported = String(report['run']);
    const [before, now] = await Promise.all(
      [run, imported].map(async (id) => parseLine((await c3(folder, ['diagnose', '--run', id, '--json'])).stdout)),
    );
    for (const key of [
      'contexts',
      'variance',
      'influence',
      'distinctInfluence',
      'fidelity',
      'duplicates',
      'reliability',
      'noise',
      'byRole',
    ]) {
      assert.deepEqual(now?.[key], before?.[key], key);
    }
    await c3(folder, ['export', '--run', imported, '--format', 'buckets', '--out', 'b.jsonl']);
    assert.equal(readFileSync(join(folder, 'b.jsonl'), 'utf8'), readFileSync(join(folder, 'a.jsonl'), 'utf8'));
    const evidence = async (id: string): Promise<string[]> =>
      [
        ...(await c3(folder, ['taxonomy', '--run', id, '--json'])).stdout.matchAll(
          /"evidence":"[^"]*returns of[^"]*"/gu,
        ),
      ].map(([found]) => found);
    assert.deepEqual(await evidence(imported), await evidence(run));
  });
});
