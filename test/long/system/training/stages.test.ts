/** Fresh rollouts between the updates of a step: sampled by the team as it is then, stored, counted, learned from. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { WITHIN_STEP } from '../../../../src/domain/snapshot.ts';
import { answerEvaluator } from '../../../../src/evaluate/evaluator.ts';
import { LocalPolicy, type PolicySource } from '../../../../src/policy/policy.ts';
import { verifyReplays } from '../../../../src/replay/verify.ts';
import { countFanoutCalls } from '../../../../src/team/rounds.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { findSamplingFault } from '../../../../src/training/iteration.ts';
import { restoreStage, restoreTraining, findSnapshotAfter } from '../../../../src/training/state/restore.ts';
import { held } from '../../../support/held.ts';
import { inStages, readSeenStages, type StagesSettings } from '../../../support/inStages.ts';
import {
  teamFolder,
  TINY_CONFIG,
  tinyWorld,
  type TinyRun,
  type TinyRunOptions,
} from '../../../unit/training/tinyRun.ts';
import { PAIR } from '../../../unit/training/tinyTeam.ts';
import { failing, rowsOf, watching } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const STEPS = 3;
const BUDGET = 6;
const OVERRIDES = [
  `steps=${STEPS}`,
  'checkpoint_every=2',
  'snapshot_every=2',
  'evaluation.instances=0',
  `evaluator_budget=${BUDGET}`,
  'fanout=[2, 2]',
];
const PER_ROLE = [...OVERRIDES, 'adapter={per: role, rank: 2}', 'ppo.learning_rate=0.02'];
const SETTINGS: StagesSettings = { radius: 0.6, passes: 2 };
const options = (overrides: readonly string[], settings = SETTINGS): TinyRunOptions => ({
  overrides,
  evaluation: [],
  method: inStages(settings),
});
const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);

describe('stages of a step', () => {
  it('are sampled by the team as the roles before left it, and learned from alone', async (t) => {
    const world = await begin(t);
    const { store, base } = world;
    const sampled: string[] = [];
    const learned: number[] = [];
    const anchors = new Set<string>();
    const wrap = watching((name, args) => {
      if (name === 'generate') {
        sampled.push(String(args[0]));
      } else if (name === 'step') {
        const [contexts, { anchor }] = args as [
          readonly { readonly messages: readonly unknown[] }[],
          { readonly anchor?: string },
        ];
        anchors.add(anchor ?? '');
        learned.push(contexts.reduce((sum, { messages }) => sum + messages.length, 0));
      }
    });
    const turns: { role: string; stage: number; reverted: boolean }[] = [];
    const summary = await world.start({
      ...options(PER_ROLE, { ...SETTINGS, onTurn: (turn) => turns.push(turn) }),
      wrap,
    });
    assert.deepEqual(
      turns.map(({ stage }) => stage),
      [0, 1, 0, 1, 0, 1],
    );
    assert.ok(turns.some(({ reverted }) => reverted));
    assert.ok(turns.some(({ reverted }) => !reverted));
    for (let step = 1; step <= STEPS; step++) {
      const [stage, ...others] = store.stages('run-1', step);
      assert.ok(stage !== undefined && others.length === 0);
      const behaviour = store.steps('run-1', step - 1, 1)[0]?.snapshot;
      assert.notEqual(stage.snapshot, behaviour, 'the team had moved before it was sampled again');
      assert.ok(anchors.has(behaviour ?? '') && anchors.has(stage.snapshot), 'each is held near who sampled it');
      const [first, second] = [0, 1].map((one) => store.trainingMessages('run-1', step, 'magrpo', one));
      assert.ok(first !== undefined && second !== undefined);
      // 3 problems with 3 episodes of two messages; the second stage has one episode fewer to learn from.
      assert.deepEqual([first.length, second.length], [18, 12]);
      const snapshots = (some: typeof first): string[] => [
        ...new Set(store.messages(some.map(({ message }) => message)).map(({ snapshot }) => snapshot)),
      ];
      assert.deepEqual([snapshots(first), snapshots(second)], [[behaviour], [stage.snapshot]]);
      assert.deepEqual(
        store.messages([first[0]?.message ?? 0, second[0]?.message ?? 0]).map(({ stage: own }) => own),
        [undefined, 1],
      );
      // Their streams are of their stage.
      const streams = [...first, ...second].map(({ message }) => store.fullMessage(message).streamKey);
      assert.equal(new Set(streams).size, streams.length);
    }
    assert.equal(sampled[0], base);
    // A role learns from its own messages of the newest stage.
    assert.deepEqual(new Set(learned), new Set([9, 6]));
    // The intermediate teams are weights of the run, and none that it had after a step.
    const after = store.snapshotsOfRun('run-1').map(({ iteration }) => iteration);
    assert.deepEqual(
      after,
      [...after].sort((a, b) => a - b),
    );
    assert.ok(after.every((iteration) => iteration >= 0));
    // One transcript tree, the later stage behind the first.
    const { messages } = store.transcript({
      run: 'run-1',
      phase: 'train',
      iteration: 1,
      problem: store.trainingMessages('run-1', 1, 'magrpo', 1)[0]?.problem ?? '',
      offset: 0,
      limit: 100,
    });
    assert.deepEqual(
      messages.map(({ stage = 0 }) => stage),
      [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
    );
    // Costs: all stages, and no more than the budget of a method without stages.
    const calls = summary.evaluatorCalls + (summary.reusedEvaluations ?? 0);
    assert.equal(calls, STEPS * 3 * BUDGET * countFanoutCalls(PAIR, [1]));
    assert.equal(store.steps('run-1', 0, 1)[0]?.episodes, 3 * BUDGET);
    assert.equal(store.learnedReturns('run-1', 1).length, 3 * (BUDGET - 1));
    // Nothing but the last weights and the first stays in the runtime.
    assert.deepEqual(
      [...(await world.host.snapshots())].sort(),
      [...new Set([base, findSnapshotAfter(store, 'run-1', STEPS).id])].sort(),
    );
    const state = store.methodState('run-1', STEPS, 1);
    assert.equal(readSeenStages(state?.json ?? null)[0], 2 * STEPS);
  });

  it('come to the same rows and weights wherever the run was interrupted', async (t) => {
    for (const [overrides, moments] of [
      [
        PER_ROLE,
        [
          ['generate', 0.3],
          ['step', 0.5],
          ['divergence', 0.7],
          ['revertTraining', 0.1],
          ['saveCheckpoint', 0],
        ],
      ],
      [
        OVERRIDES,
        [
          ['generate', 0.6],
          ['freeze', 0.45],
        ],
      ],
    ] as const) {
      const whole = await begin(t);
      await whole.start(options(overrides));
      const counts = new Map<string, number>();
      const counting = await begin(t);
      await counting.start({
        ...options(overrides),
        wrap: watching((name) => counts.set(name, (counts.get(name) ?? 0) + 1)),
      });
      for (const [method, share] of moments) {
        const at = 1 + Math.floor(share * (counts.get(method) ?? 0));
        const world = await begin(t);
        const wrap = failing(method, at);
        await assert.rejects(world.start({ ...options(overrides), wrap }), /It broke/, `${method} ${at}`);
        await world.resume(options(overrides));
        assert.deepEqual(rowsOf(world), rowsOf(whole), `${method} ${at}`);
        await world.giveBack();
      }
      await counting.giveBack();
      const input = whole.restoring(options(overrides));
      for (let step = 1; step <= STEPS; step++) {
        assert.equal(await restoreTraining(input, step), findSnapshotAfter(whole.store, 'run-1', step).id);
        for (const stage of whole.store.stages('run-1', step)) {
          assert.equal(await restoreStage(input, stage), stage.snapshot);
          assert.deepEqual(whole.store.stageOfSnapshot('run-1', stage.snapshot)?.snapshot, stage.snapshot);
        }
      }
      await whole.giveBack();
    }
  });

  it('can be verified: their messages, executed again with the weights of their stage, are identical', async (t) => {
    const world = await begin(t);
    // Nobody is taken back, so that no step ends with the weights of its stage.
    const free = { ...SETTINGS, radius: 1e9 };
    await world.start(options(PER_ROLE, free));
    const { store, host } = world;
    const input = world.restoring(options(PER_ROLE, free));
    const rebuilt: string[] = [];
    const source: PolicySource = async (snapshot) => {
      if (!(await host.snapshots()).includes(snapshot)) {
        const record = store.snapshots(snapshot)[0] ?? assert.fail();
        const stage = record.iteration === WITHIN_STEP ? store.stageOfSnapshot('run-1', snapshot) : null;
        rebuilt.push(stage === null ? 'step' : 'stage');
        await (stage === null ? restoreTraining(input, record.iteration) : restoreStage(input, stage));
      }
      return held({ policy: new LocalPolicy(host, input.tokenizer, snapshot) });
    };
    const replays = store.replaysOfRun('run-1', 0, 1000);
    const report = await verifyReplays(
      store,
      replays,
      source,
      { protocol: PAIR, evaluator: answerEvaluator, returnBound: 10 },
      { signal: new AbortController().signal },
    );
    assert.deepEqual([report.identical, report.different, report.notComparable], [replays.length, 0, 0]);
    assert.equal(rebuilt.filter((kind) => kind === 'stage').length, STEPS);
  });

  it('are refused where the budget does not pay for all of them, or more are asked for than declared', async (t) => {
    const config = readConfig(TINY_CONFIG, 'tiny.c3.yaml', OVERRIDES);
    const method = inStages(SETTINGS);
    assert.equal(findSamplingFault(config, PAIR, method), null);
    assert.match(
      findSamplingFault(config, PAIR, { ...method, plan: () => [{ fanout: [BUDGET], commonRandomNumbers: false }] }) ??
        '',
      /^c3 makes up to 12 evaluator calls per problem in the 2 stages of a step, more than evaluator_budget \(6\); raise it\.$/,
    );
    const world = await begin(t);
    await assert.rejects(
      world.start(options(OVERRIDES, { ...SETTINGS, tooMany: true })),
      /There is no stage 2 of step 1 of run run-1: its method declares 2, the first of them stage 0\./,
    );
  });
});
