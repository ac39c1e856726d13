import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { c3, copyOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';
import { diagnosesMethod } from './diagnosedMethod.ts';

const mean = z.object({ value: z.number(), n: z.int() });

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  run = String(parseLine((await c3(workspace, ['run', 'tiny.c3.yaml', '--json'])).stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

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

  it('replays held-out questions without what a role says, once, and the report shows it', async (t) => {
    const folder = copyOf(t, workspace);
    const emptied = ['diagnose', '--run', run, '--json', '--emptied', '--contexts', '3', '--replays', '2'];
    const first = await c3(folder, emptied);
    assert.equal(first.code, 0, first.stderr);
    const again = await c3(folder, emptied);
    assert.equal(again.stdout, first.stdout);
    withStore(folder, (store) => {
      const buckets = store.bucketsOfRun({ run, origin: 'request', offset: 0, limit: 10 });
      assert.deepEqual(
        buckets.map(({ alternatives }) => alternatives.map(({ text, returns }) => [text === '', returns.length])),
        Array.from({ length: 3 }, () => [
          [false, 2],
          [true, 2],
        ]),
      );
      // The figures, computed anew from the rows: each bucket is a question.
      const means = [0, 1].map((side) => {
        const own = buckets.map(({ alternatives }) => alternatives[side]?.returns ?? []);
        const questions = own.map((returns) => returns.reduce<number>((sum, one) => sum + (one ?? NaN), 0) / 2);
        return questions.reduce((sum, one) => sum + one, 0) / 3;
      });
      const [effect] = z
        .object({ emptied: z.array(z.object({ team: mean, without: mean, difference: mean, replays: z.number() })) })
        .parse(parseLine(first.stdout)).emptied;
      assert.deepEqual(
        [effect?.team, effect?.without],
        [
          { value: means[0], n: 3 },
          { value: means[1], n: 3 },
        ],
      );
      assert.equal(effect?.replays, 6);
    });
    await c3(folder, ['report', '--run', run, '--out', 'run.html']);
    assert.match(readFileSync(join(folder, 'run.html'), 'utf8'), /Held-out questions without a message/u);
  });

  it('replays what a run learned from, once, and says how its credits go with what that is worth', async (t) => {
    const folder = copyOf(t, workspace);
    const asked = ['diagnose', '--run', run, '--training-credit', '--contexts', '3', '--replays', '2'];
    const first = await c3(folder, [...asked, '--json']);
    assert.equal(first.code, 0, first.stderr);
    const again = await c3(folder, [...asked, '--json']);
    assert.equal(again.stdout, first.stdout);
    const found = parseLine(first.stdout);
    assert.deepEqual(
      [found['run'], found['method'], found['settings']],
      [run, 'c3', { contexts: 3, replays: 2, role: null, seed: 0 }],
    );
    const roles = z
      .array(
        z.object({ role: z.string(), contexts: z.int(), messages: z.int(), pairs: z.int(), evaluatorCalls: z.int() }),
      )
      .parse(found['trainingCredit']);
    const buckets = withStore(folder, (store) => store.bucketsOfRun({ run, origin: 'request', offset: 0, limit: 99 }));
    for (const { role, contexts, messages, pairs, evaluatorCalls } of roles) {
      const own = buckets.filter((bucket) => bucket.role === role);
      const calls = own.flatMap(({ alternatives }) => alternatives.map((one) => one.evaluatorCalls));
      assert.deepEqual(
        [contexts, messages, pairs, evaluatorCalls],
        [3, own.length, 2 * own.length, calls.reduce((sum, one) => sum + one, 0)],
      );
    }
    assert.equal(roles.length, 2);
    const words = (await c3(folder, asked)).stdout;
    assert.match(words, /credit that c3 learned with against the target advantage/u);
    assert.match(words, /3 contexts, \d+ messages, \d+ pairs, \d+ evaluator calls/u);
    assert.equal(parseLine((await c3(folder, ['diagnose', '--run', run, '--json'])).stdout)['origin'], 'training');
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--json'])).stdout);
    assert.deepEqual([verified['different'], verified['notComparable']], [0, 0]);
  });

  it('measures a run of another method, by the baseline that it has', (t) => diagnosesMethod(t, workspace, 'magrpo'));

  it('refuses what it cannot do, in one line', async () => {
    const refusals: [string[], RegExp][] = [
      [['diagnose'], /needs --run RUN/],
      [['diagnose', '--run', 'none'], /no run none/],
      [['diagnose', '--run', run, '--origin', 'x'], /--origin is training, request or diagnostic/],
      [['diagnose', '--run', run, '--contexts', '3'], /--contexts configures sampling; add --sample/],
      [['diagnose', '--run', run, '--emptied', '--sample'], /--emptied measures by itself; omit --sample/],
      [
        ['diagnose', '--run', run, '--emptied', '--training-credit'],
        /--emptied measures by itself; omit --training-credit/,
      ],
      [
        ['diagnose', '--run', run, '--training-credit', '--sample'],
        /--training-credit measures by itself; omit --sample/,
      ],
      [['diagnose', '--run', run, '--training-credit', '--role', 'nobody'], /no role "nobody"/],
      [['diagnose', '--run', run, '--training-credit', '--replays', '300'], /--replays must be .* from 1 to 256/],
      [['diagnose', '--run', 'none', '--training-credit'], /no run none/],
      [['diagnose', '--run', run, '--emptied', '--role', 'nobody'], /no role follows .nobody.*; name /],
      [['diagnose', '--run', run, '--origin', 'request'], /has no request buckets/],
      [
        ['export', '--run', run, '--format', 'pdf', '--out', 'x'],
        /--format is buckets, tuples, adapter or model, not "pdf"/,
      ],
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
