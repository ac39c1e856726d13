import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  c3,
  contentsOf,
  copyOf,
  makeWorkspace,
  parseLine,
  withStore,
  type Finished,
} from '../../../unit/engine/workspace.ts';
import { sums } from '../../../unit/training/tinyTeam.ts';
import { field, isInterval, list, succeeded } from './documents.ts';

let workspace = '';
let ran: Finished;
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  ran = await c3(workspace, ['run', 'tiny.c3.yaml', '--json', '--override', 'seed=3']);
  run = String(parseLine(ran.stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

describe('c3 run', () => {
  it('prints one JSON document with the keys of the contract, and progress on standard error', () => {
    succeeded(ran);
    const document = parseLine(ran.stdout);
    assert.deepEqual(
      [document['method'], document['seed'], document['steps'], document['store']],
      ['c3', 3, 2, join(workspace, '.c3', 'c3.sqlite')],
    );
    // Two steps of two problems with 2 plans and 8 solutions, four evaluations of four.
    assert.deepEqual(
      [Number(document['evaluatorCalls']) + Number(document['reusedEvaluations']), document['decisions']],
      [2 * 2 * 8 + 16, { reasoner: 2 * 2 * 2 + 16, actor: 2 * 2 * 8 + 16 }],
    );
    assert.deepEqual(Object.keys(document['tokens'] ?? {}).sort(), [
      'completion',
      'prompt',
      'reused',
      'reusedCompletion',
    ]);
    for (const measure of ['accuracy', 'passAt1']) {
      for (const when of ['before', 'after']) {
        assert.ok(isInterval(field(document[measure], when)), measure);
      }
    }
    assert.ok(typeof document['seconds'] === 'number' && document['seconds'] > 0);
    assert.match(ran.stderr, /Evaluating greedy, before training: 4 of 4, (about \d+ \w+|a few seconds) left\n/);
    assert.match(ran.stderr, /Step 2 of 2: mean return 0\.\d+, (about \d+ \w+|a few seconds) left\n/);
    assert.match(
      ran.stderr,
      /^Time: about .*, from a short trial of the model on this machine$[\s\S]*^Evaluating greedy, before training/m,
    );
  });

  it('takes GSM8K-form data to the end: questions, gold answers and scores', () => {
    withStore(workspace, (store) => {
      const held = store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 10 });
      assert.deepEqual(
        held.map(({ question, answer }) => ({ question, answer })),
        sums(4, 100).map(({ question, answer }) => ({ question, answer })),
      );
      const trained = [1, 2].flatMap((iteration) =>
        store.episodes({ run, phase: 'train', iteration, offset: 0, limit: 100 }),
      );
      assert.deepEqual(
        new Set(trained.map(({ question }) => question)),
        new Set(sums(4).map(({ question }) => question)),
      );
      assert.deepEqual(
        new Set(trained.map((episode) => episode.return)),
        new Set([0, 1]),
        'the tiny team is right at times',
      );
      for (const { answer, leaf, return: value } of trained) {
        assert.equal(value === 1, new RegExp(`#### ${answer}$`).test(store.message(leaf).text));
      }
    });
  });

  it('says the same in words without --json, and says which data it left out', async (t) => {
    const folder = copyOf(t, workspace);
    const result = await c3(folder, [
      'run',
      'tiny.c3.yaml',
      '--override',
      'task.evaluation_file=null',
      '--override',
      'instances_per_step=9',
      '--override',
      'steps=1',
      '--show',
    ]);
    succeeded(result);
    assert.match(result.stdout, /greedy accuracy {3}\d.*n 1.*->.*n 1/);
    assert.match(
      result.stdout,
      /What one message was worth: message \d+ by the reasoner.*\n {2}question {2}Box \d+ holds.*\n {2}expected {2}-?\d+\n {2}message .*\n {2}instead .*\n {2}credit /,
    );
    assert.match(result.stdout, /Message \d+ by the reasoner and its alternatives/);
    assert.match(result.stderr, /the first 1 problems are held out/);
    assert.match(result.stderr, /5 training problems are fewer than instances_per_step \(9\)/);
  });

  it('runs a protocol of four roles, two of them in parallel', async (t) => {
    const folder = copyOf(t, workspace);
    const result = await c3(folder, [
      'run',
      'tiny.c3.yaml',
      '--json',
      '--override',
      'protocol=four.json',
      '--override',
      'fanout=[2,1,1,2]',
      '--override',
      'steps=1',
    ]);
    succeeded(result);
    assert.deepEqual(parseLine(result.stdout)['decisions'], {
      planner: 2 * 2 + 16,
      left: 2 * 2 + 16,
      right: 2 * 2 + 16,
      integrator: 2 * 4 + 16,
    });
  });
});

describe('c3 taxonomy, doctor, credit, bench', () => {
  it('puts the failure classes with their evidence', async () => {
    const { stdout, code } = await c3(workspace, ['taxonomy', '--run', run, '--json']);
    assert.equal(code, 0);
    const classes = list(parseLine(stdout)['classes']);
    assert.deepEqual(
      classes.map((one) => field(one, 'name')),
      ['Successful Credit Shift', 'Evaluator Ambiguity', 'Misleading Plan', 'Over-Coupling'],
    );
    for (const one of classes) {
      const cases = list(field(one, 'cases'));
      assert.equal(field(one, 'count'), cases.length);
      for (const each of cases) {
        assert.ok(Number.isInteger(field(each, 'bucket')) && typeof field(each, 'evidence') === 'string');
      }
    }
    const words = await c3(workspace, ['taxonomy', '--run', run]);
    // Four classes and what one of their names means, all succeeded, what fits none, what was left out, the thresholds,
    // what chance is, the agreement, six findings, and what they are about.
    assert.equal(words.stdout.split('\n').length, 4 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 6 + 1 + 1);
  });

  it('examines the machine and the store', async () => {
    const { stdout, code } = await c3(workspace, ['doctor', '--json']);
    assert.equal(code, 0);
    const document = parseLine(stdout);
    const cpu = list(document['providers']).find((one) => field(one, 'name') === 'cpu');
    assert.equal(field(cpu, 'available'), true);
    assert.match(String(field(cpu, 'selfTest')), /^passed: /);
    assert.equal(field(document['versions'], 'node'), process.versions.node);
    assert.match(
      String(field(document['store'], 'state')),
      /^healthy: 1 runs, 72 messages, 48 episodes, 12 buckets, 64 replays$/,
    );
    const nowhere = await c3(workspace, ['doctor', '--json', '--store', 'none/c3.sqlite']);
    assert.match(String(field(parseLine(nowhere.stdout)['store'], 'state')), /^none yet/);
    assert.ok(!(join(workspace, 'none') in contentsOf(workspace)));
  });

  it('computes credits line by line', async () => {
    const stdin =
      '{"id": "a", "alternatives": [{"returns": [1, 0]}, {"returns": [1]}, {"returns": [0, 0, 0]}]}\n\n{"id": 7, "alternatives": [{"returns": [null]}, {"returns": [1, null]}]}\n';
    const { stdout, code } = await c3(workspace, ['credit', '--estimator', 'loo'], { stdin });
    assert.equal(code, 0);
    const [first, second] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => parseLine(`${line}\n`));
    assert.equal(first?.['id'], 'a');
    // Each against the mean of all returns of the others: 0.5 - 1/4, 1 - 1/5, 0 - 2/3.
    for (const [name, expected] of [
      ['baselines', [1 / 4, 1 / 5, 2 / 3]],
      ['credits', [1 / 4, 4 / 5, -2 / 3]],
    ] as const) {
      list(first[name]).forEach((value, index) =>
        assert.ok(Math.abs(Number(value) - (expected[index] ?? NaN)) < 1e-12, name),
      );
    }
    assert.ok(list(first['intervals']).every(isInterval));
    assert.deepEqual(
      [second?.['id'], field(list(second?.['credits']), '0'), field(list(second?.['intervals']), '0')],
      [7, null, null],
    );
    const mean = await c3(workspace, ['credit', '--estimator', 'full_mean'], { stdin });
    assert.ok(
      Math.abs(Number(list(parseLine(`${mean.stdout.split('\n')[0] ?? ''}\n`)['baselines'])[0]) - 2 / 6) < 1e-12,
    );
  });

  it('measures a first run', async (t) => {
    const folder = copyOf(t, workspace);
    const before = contentsOf(folder);
    const result = await c3(folder, ['bench', 'first-run', '--quick', '--config', 'tiny.c3.yaml', '--json']);
    succeeded(result);
    const document = parseLine(result.stdout);
    assert.equal(document['suite'], 'first-run');
    assert.equal(typeof document['hardware'], 'string');
    const figures = list(document['figures']);
    for (const figure of figures) {
      assert.deepEqual(Object.keys(figure ?? {}), ['name', 'value', 'unit', 'ceiling', 'ratio', 'peer', 'peerRatio']);
    }
    const value = (name: string): unknown =>
      field(
        figures.find((figure) => field(figure, 'name') === `seed 0: ${name}`),
        'value',
      );
    assert.equal(Number(value('evaluator calls')) + Number(value('reused evaluations')), 2 * 8 + 16);
    for (const name of [
      'first transcript stored',
      'whole run',
      'replay click to first alternative, median',
      'greedy accuracy gain',
    ]) {
      assert.equal(typeof value(name), 'number', name);
    }
    assert.deepEqual(contentsOf(folder), before);
  });
});
