/**
 * `evaluation.every`: a curve over training that changes nothing of it, survives interruptions and is paid for apart.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import {
  evaluationCurve,
  listEvaluations,
  evaluationTimes,
  evaluationRound,
  isEvaluatedAfter,
  roundDuring,
  roundsInOrder,
  roundTitle,
} from '../../../../src/domain/evaluation.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { connect } from '../../../../src/store/files/sqlite.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../../../unit/training/tinyRun.ts';
import { failing, rowsOf, watching } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);
const OVERRIDES = ['steps=5', 'checkpoint_every=2', 'snapshot_every=2', 'evaluation.batch=4'];
const EVERY = [...OVERRIDES, 'evaluation.every=2'];

/** What training left: its messages, episodes, returns, steps without what they cost, and every snapshot. */
function training({ store }: TinyRun): unknown {
  const db = connect(store.path, 'read');
  try {
    return {
      decisions: db
        .prepare(
          `SELECT iteration, event_type, sibling_index, stream_key, token_hash, hex(tokens), hex(logprobs) FROM decision WHERE phase = 'train' ORDER BY id`,
        )
        .all(),
      episodes: db
        .prepare(`SELECT iteration, return, rule, evaluator_calls FROM episode WHERE phase = 'train' ORDER BY id`)
        .all(),
      credits: db.prepare('SELECT estimator, value, low, high, n FROM credit ORDER BY id').all(),
      steps: store
        .steps('run-1', 0, 100)
        .map(({ iteration, metrics }) => ({ iteration, ...metrics, generateSeconds: 0, trainSeconds: 0 })),
      snapshots: store.snapshotsOfRun('run-1').map(({ id, iteration }) => [id, iteration]),
    };
  } finally {
    db.close();
  }
}

describe('evaluation every so many steps', () => {
  for (const more of [[], ['method=mappo'], ['adapter={rank: 2, per: role}']]) {
    it(`leaves training as it is, bit for bit${more.length === 0 ? '' : `, with ${more.join(' ')}`}`, async (t) => {
      const without = await begin(t);
      await without.start({ overrides: [...OVERRIDES, ...more] });
      const with1 = await begin(t);
      await with1.start({ overrides: [...OVERRIDES, ...more, 'evaluation.every=1'] });
      assert.ok(with1.store.snapshotsOfRun('run-1').length > 1, 'the run learned something');
      assert.deepEqual(training(with1), training(without));
      assert.deepEqual(
        [without, with1].map(({ store }) => store.evaluationNumbers('run-1').length),
        [4, 4 + 2 * 4],
      );
    });
  }

  it('stores what each evaluation measured when it ends, over the episodes of its own weights', async (t) => {
    const { store, start } = await begin(t);
    const summary = await start({ overrides: EVERY });
    const evaluations = store.evaluations('run-1');
    assert.deepEqual(
      evaluations.map(({ step, kind }) => [step, kind]),
      [0, 2, 4, 5].flatMap((step) => [
        [step, 'greedy'],
        [step, 'sampled'],
      ]),
    );
    assert.deepEqual(
      roundsInOrder(store.evaluationNumbers('run-1')).map(({ iteration }) => iteration),
      evaluations.map(({ iteration }) => iteration),
    );
    const after2 = store.snapshotsOfRun('run-1').findLast(({ iteration }) => iteration <= 2)?.id;
    for (const { iteration, step, result } of evaluations) {
      const episodes = store.episodes({ run: 'run-1', phase: 'evaluate', iteration, offset: 0, limit: 100 });
      assert.equal(episodes.length, 6);
      const solved = episodes.filter((episode) => (episode.return ?? 0) >= 1).length;
      assert.deepEqual([result?.n, result?.value], [6, solved / 6]);
      if (step === 2) {
        for (const { leaf } of episodes) {
          assert.equal(store.fullMessage(leaf).snapshot, after2);
        }
      }
    }
    const curve = evaluationCurve(evaluations);
    assert.deepEqual(
      curve.map(({ step }) => step),
      [0, 2, 4, 5],
    );
    assert.deepEqual(
      [curve[0]?.accuracy, curve.at(-1)?.accuracy, curve[0]?.passAt1, curve.at(-1)?.passAt1],
      [summary.accuracy.before, summary.accuracy.after, summary.passAt1.before, summary.passAt1.after],
    );
  });

  it('is paid for apart: training keeps its budget, its seconds and the cost of its steps', async (t) => {
    const plain = await begin(t);
    const first = await plain.start({ overrides: OVERRIDES });
    const every = await begin(t);
    const second = await every.start({ overrides: EVERY });
    // Two evaluations more, each of six problems greedily and six by sampling, with one scored message.
    assert.equal(second.evaluatorCalls - first.evaluatorCalls, 2 * (6 + 6));
    // The clock of these runs counts how often it is asked: each of the two pauses asks once, and what evaluating asks
    // is not training's.
    assert.equal(second.seconds, first.seconds + 2);
    const trained = ({ store }: TinyRun): number =>
      [1, 2, 3, 4, 5].reduce(
        (sum, iteration) => sum + store.roundCost({ run: 'run-1', phase: 'train', iteration }).evaluatorCalls,
        0,
      );
    assert.equal(trained(every), trained(plain));
    // Some results are taken from an equal one and cost no call; every episode is scored all the same.
    const episodes = ({ store }: TinyRun): number =>
      store.steps('run-1', 0, 10).reduce((sum, step) => sum + step.episodes, 0);
    assert.deepEqual([episodes(plain), episodes(every)], [5 * 3 * 8, 5 * 3 * 8]);
  });

  it('gives the rows and weights of a run that was not interrupted, wherever it was', async (t) => {
    const whole = await begin(t);
    let calls = 0;
    const during: number[] = [];
    await whole.start({
      overrides: EVERY,
      wrap: watching((name) => (calls += name === 'generate' ? 1 : 0)),
      control: {
        onProgress: ({ message }) => {
          if (/^Evaluating .*, after step/u.test(message)) {
            during.push(calls + 1);
          }
        },
      },
    });
    assert.equal(during.length, 2 * 2 * 3, 'a beginning and two batches, greedy and sampled, after steps 2 and 4');
    for (const at of [...new Set(during)].filter((call) => call <= calls)) {
      const world = await begin(t);
      await assert.rejects(world.start({ overrides: EVERY, wrap: failing('generate', at) }), /It broke/u, String(at));
      await world.resume({ overrides: EVERY });
      assert.deepEqual(rowsOf(world), rowsOf(whole), String(at));
    }
  });

  it('keeps what was measured through a cancel', async (t) => {
    const world = await begin(t);
    const signal = makeSignalAbortedWhen(() =>
      world.progress.some(({ message }) => message.startsWith('Evaluating sampled, after step 2')),
    );
    await assert.rejects(world.start({ overrides: EVERY, control: { signal } }), CancelledError);
    const { store } = world;
    assert.deepEqual([store.run('run-1').status, store.run('run-1').summary], ['cancelled', null]);
    const known = listEvaluations(store.run('run-1'), store.evaluations('run-1'));
    assert.deepEqual(
      known.map(({ step, kind }) => [step, kind]),
      [
        [0, 'greedy'],
        [0, 'sampled'],
        [2, 'greedy'],
      ],
    );
    assert.deepEqual(
      evaluationCurve(known).map(({ step, accuracy, passAt1 }) => [step, accuracy?.n, passAt1?.n]),
      [
        [0, 6, 6],
        [2, 6, undefined],
      ],
    );
  });
});

describe('the numbers of evaluations', () => {
  it('name their step and kind, and come back from them', () => {
    for (let step = 1; step < 50; step++) {
      for (const kind of ['greedy', 'sampled'] as const) {
        const round = roundDuring(step, kind);
        assert.deepEqual(evaluationRound(round.iteration), round);
      }
    }
    assert.deepEqual(
      [5, 6, 7, 8].map((number) => [evaluationRound(number)?.step, evaluationRound(number)?.kind]),
      [
        [1, 'greedy'],
        [1, 'sampled'],
        [2, 'greedy'],
        [2, 'sampled'],
      ],
    );
    assert.deepEqual([0, -1, 1.5, NaN].map(evaluationRound), [null, null, null, null]);
    assert.deepEqual(
      roundsInOrder([1, 2, 3, 4, 7, 8, 15, 16]).map(({ iteration }) => iteration),
      [1, 2, 7, 8, 15, 16, 3, 4],
    );
    assert.deepEqual(
      [roundTitle('evaluate', 1), roundTitle('evaluate', 4), roundTitle('evaluate', 15), roundTitle('train', 6)],
      ['Evaluation before, greedy', 'Evaluation after, sampled', 'Evaluation after step 6, greedy', 'Step 6'],
    );
  });

  it('come every so many steps, and never in place of the one after training', () => {
    const at = (steps: number, every: number): number[] =>
      Array.from({ length: steps + 2 }, (_, step) => step).filter((step) => isEvaluatedAfter(step, { steps, every }));
    assert.deepEqual([at(6, 2), at(5, 2), at(3, 0), at(4, 9), at(0, 1)], [[2, 4], [2, 4], [], [], []]);
    for (const steps of [0, 1, 5, 6, 36]) {
      for (const every of [0, 1, 2, 7, 36]) {
        for (const first of [false, true]) {
          // One after, or in place of all where nothing is trained.
          const expected = steps === 0 ? 1 : at(steps, every).length + (first ? 1 : 0) + 1;
          assert.equal(
            evaluationTimes({ steps, every, before: first }),
            expected,
            JSON.stringify([steps, every, first]),
          );
        }
      }
    }
  });
});
