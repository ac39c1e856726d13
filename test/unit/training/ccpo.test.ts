/** What CCPO learns from: the published functions' numbers, its options, and what a run stores of it. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import { readFrozenBranch } from '../../../src/replay/storedBranch.ts';
import type { TreeMessage } from '../../../src/replay/tree.ts';
import { removalReport } from '../../../src/report/removal.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { ccpo } from '../../../src/training/methods/ccpo.ts';
import {
  pairReturns,
  shapeSignal,
  shapeSignals,
  scaleWithinPrompt,
} from '../../../src/training/methods/ccpoShaping.ts';
import {
  runningDeviation,
  computeGate,
  NO_STATISTICS,
  toStatisticsState,
  readStatistics,
  updateStatistics,
  type Paired,
  type Statistics,
} from '../../../src/training/methods/ccpoStatistics.ts';
import { problems, SAMPLING } from '../replay/helpers.ts';
import { teamFolder, tinyWorld, type TinyRun } from './tinyRun.ts';
import { FOUR, PAIR, sums } from './tinyTeam.ts';
import { watchingSteps } from './watched.ts';

const SETTINGS = readConfig('', 'defaults').ccpo;
const close = (actual: number, expected: number, what: string, within = 1e-5): void =>
  assert.ok(Math.abs(actual - expected) < within, `${what}: ${actual} is not ${expected}`);
const pairs = (joint: readonly number[], solo: readonly number[]): Paired[] =>
  joint.map((one, index) => ({ joint: one, solo: solo[index] ?? NaN }));

/** Three batches of 12, from the authors' own functions (reference section 12). */
const BATCHES = [
  pairs([1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0]),
  pairs([1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0], [1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1]),
  pairs([0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1]),
] as const;
/** After each batch: mean and deviation of contribution, joint and solo, and the gate. */
const AFTER = [
  [0.08333334, 0.64009549, 0.41666666, 0.49300669, 0.33333334, 0.47140452, 0.53250128],
  [0.085, 0.63966138, 0.41916666, 0.49279536, 0.33416668, 0.47162544, 0.53317185],
  [0.08415, 0.63906834, 0.42080832, 0.49279747, 0.33665834, 0.47184405, 0.53287148],
] as const;
/** Of the second and third batch: by joint and solo return, what thinker and solver learn from. */
const SHAPED = [
  {},
  {
    '1 1': [-0.129458, 1.291204],
    '1 0': [0.892091, 0.299492],
    '0 0': [-0.129458, -0.780616],
    '0 1': [-0.934459, 0.211097],
  },
  {
    '0 1': [-0.934933, 0.20555],
    '1 1': [-0.132106, 1.287481],
    '0 0': [-0.132106, -0.784276],
    '1 0': [0.891757, 0.297655],
  },
] as const satisfies readonly Readonly<Record<string, readonly [number, number]>>[];

describe('the shaping of CCPO', () => {
  it("gives the numbers of the authors' functions over three steps", () => {
    let statistics = NO_STATISTICS;
    for (const [step, batch] of BATCHES.entries()) {
      const expected: Readonly<Record<string, readonly [number, number]>> = SHAPED[step] ?? {};
      for (const pair of batch) {
        const [thinker, solver] = expected[`${pair.joint} ${pair.solo}`] ?? [pair.joint - pair.solo, pair.joint];
        const signal = shapeSignal(pair, statistics, SETTINGS);
        close(signal.thinker, thinker, `thinker of step ${step}`);
        close(signal.solver, solver, `solver of step ${step}`);
      }
      statistics = updateStatistics(statistics, batch, SETTINGS.decay);
      const { contribution, joint, solo } = statistics;
      const found = [contribution, joint, solo].flatMap((one) => [one.mean, runningDeviation(one)]);
      for (const [index, value] of [...found, computeGate(statistics, SETTINGS.eta)].entries()) {
        close(value, AFTER[step]?.[index] ?? NaN, `statistic ${index} after step ${step}`);
      }
    }
  });

  it('scales the rollouts of a prompt by their sample deviation', () => {
    const cases = [
      [
        [1, 0, 0, 0],
        [1.499997, -0.499999, -0.499999, -0.499999],
      ],
      [
        [1, 1, 0, 0],
        [0.866024, 0.866024, -0.866024, -0.866024],
      ],
      [
        [0.1, 0.1, 0.1],
        [0, 0, 0],
      ],
      [
        [0.892091, -0.129458, -0.129458, -0.934459],
        [1.292809, -0.072346, -0.072346, -1.148116],
      ],
      [[0.7], [0.7]],
      [[], []],
    ] as const;
    for (const [values, expected] of cases) {
      const found = scaleWithinPrompt(values, 'deviation');
      assert.equal(found.length, expected.length);
      found.forEach((value, index) => close(value, expected[index] ?? NaN, JSON.stringify(values)));
    }
  });

  it("gives the numbers of the authors' later code, by event and by difference", () => {
    const joint = [1, 1, -1, -1, 1, -1, 1, 1];
    const solo = [-1, -1, 1, -1, 1, 1, 1, -1];
    // Their scores are -1 and 1; two prompts of four rollouts.
    const rollouts = pairs(joint, solo).map((pair) => ({ joint: (pair.joint + 1) / 2, solo: (pair.solo + 1) / 2 }));
    for (const [changes, expected] of [
      [{}, [1.2, 1.2, -1, -1, 1, -1.2, 1, 1]],
      [{ solo_baseline: 'rollout' }, [1.2, 1.2, -1.2, -1, 1, -1.2, 1, 1.2]],
      [{ bonus: 'difference' }, [1.15, 1.15, -1.05, -1.05, 1.05, -1.15, 1.05, 1.05]],
    ] as const) {
      const settings = { ...SETTINGS, shaping: 'event', ...changes } as const;
      const found = [rollouts.slice(0, 4), rollouts.slice(4)].flatMap((prompt) =>
        shapeSignals(prompt, NO_STATISTICS, settings),
      );
      found.forEach(({ thinker, solver }, index) => {
        close(thinker, expected[index] ?? NaN, JSON.stringify(changes));
        assert.equal(solver, joint[index]);
      });
    }
    assert.deepEqual(shapeSignals([], NO_STATISTICS, { ...SETTINGS, shaping: 'event' }), []);
    assert.deepEqual(scaleWithinPrompt([1.2, -1, -1.2, 1], 'mean'), [1.2, -1, -1.2, 1]);
    assert.deepEqual(scaleWithinPrompt([3, 1], 'mean'), [1, -1]);
    assert.deepEqual(scaleWithinPrompt([3, 1], 'none'), [3, 1]);
  });

  it('waits for as many rollouts as it is told, and for none without history', () => {
    const statistics = updateStatistics(NO_STATISTICS, BATCHES[0], 0.99);
    const pair = { joint: 1, solo: 0 };
    assert.deepEqual(shapeSignal(pair, statistics, { ...SETTINGS, min_samples: 13 }), { thinker: 1, solver: 1 });
    assert.ok(shapeSignal(pair, statistics, { ...SETTINGS, min_samples: 12 }).thinker < 1);
    assert.deepEqual(shapeSignal(pair, statistics, { ...SETTINGS, shaping: 'none' }), { thinker: 1, solver: 1 });
    // Without a first step there is nothing to scale by, however few are asked for.
    assert.deepEqual(shapeSignal(pair, NO_STATISTICS, { ...SETTINGS, min_samples: 0 }), { thinker: 1, solver: 1 });
  });

  it('has a gate on the side of the stream that contributed, and a deviation of 1 where nothing varied', () => {
    const steady = (contribution: number): Statistics => ({
      ...NO_STATISTICS,
      steps: 1,
      contribution: { mean: contribution, variance: 0 },
    });
    close(computeGate(steady(0.5), 1), 1 / (1 + Math.exp(-0.5)), 'a thinker that helps');
    assert.ok(computeGate(steady(-0.5), 1) < 0.5);
    assert.equal(computeGate(steady(-0.5), 0), 0.5);
    // The argument is bounded by 20.
    close(computeGate(steady(1), 1000), 1 / (1 + Math.exp(-20)), 'the bound', 1e-12);
  });

  it('pairs by number, takes the mean for a solo rollout that was not measured, and leaves out what has none', () => {
    assert.deepEqual(pairReturns([1, 0, null, 1], [0, null, 1, 1]), [
      { joint: 1, solo: 0 },
      { joint: 0, solo: 2 / 3 },
      null,
      { joint: 1, solo: 1 },
    ]);
    assert.deepEqual(pairReturns([1, 0], [null, null]), [null, null]);
    assert.deepEqual(updateStatistics(NO_STATISTICS, [], 0.99), NO_STATISTICS);
  });
});

interface Trees {
  readonly episodes: readonly TreeMessage[];
  /** The empty message with the solo rollouts below it. */
  readonly without: TreeMessage;
}

/** Whole episodes with these joint and solo returns, as a run grows them. */
function treesOf(joint: readonly (number | null)[], solo: readonly (number | null)[]): Trees {
  const [problem] = problems(1);
  const message = (parent: TreeMessage | null, sibling: number, score?: number | null): TreeMessage => {
    const made: TreeMessage = {
      problem: problem ?? assert.fail(),
      position: parent === null ? 0 : 1,
      parent,
      sibling,
      alternative: sibling,
      replay: null,
      context: '',
      contextKey: '',
      streamKey: '',
      sampling: SAMPLING,
      answer: {
        text: '',
        prompt: new Int32Array(),
        tokens: new Int32Array(),
        logprobs: new Float32Array(),
        finish: 'end',
        reusedTokens: 0,
      },
      score: score === undefined ? undefined : { score, rule: 'table' },
      children: [],
      stored: undefined,
    };
    parent?.children.push(made);
    return made;
  };
  const episodes = joint.map((score, index) => {
    const thinker = message(null, index);
    message(thinker, 0, score);
    return thinker;
  });
  const without = message(null, 0);
  solo.forEach((score, index) => message(without, index, score));
  return { episodes, without };
}

const creditsOf = (
  { episodes, without }: Trees,
  overrides: readonly string[],
  state = toStatisticsState(NO_STATISTICS),
): { readonly thinker: (number | null)[]; readonly solver: (number | null)[]; readonly state: Statistics } => {
  const { credits, state: next } = ccpo.credit({
    settings: readConfig('', 'defaults', overrides),
    stage: 0,
    problems: [episodes],
    measured: [[without]],
    values: new Map(),
    state,
  });
  const valueOf = (message: TreeMessage | undefined): number | null =>
    message === undefined ? null : (credits.get(message)?.value ?? null);
  return {
    thinker: episodes.map(valueOf),
    solver: episodes.map((one) => valueOf(one.children[0])),
    state: readStatistics(next ?? assert.fail()),
  };
};

describe('the credit of CCPO', () => {
  it('is the shaped difference with and without the thinker, scaled within the prompt', () => {
    const state = toStatisticsState(updateStatistics(NO_STATISTICS, BATCHES[0], 0.99));
    // By joint and solo return: (1, 0), (1, 1), (0, 0), (0, 1).
    const trees = treesOf([1, 1, 0, 0], [0, 1, 0, 1]);
    const { thinker, solver } = creditsOf(trees, [], state);
    const expected = [1.292809, -0.072346, -0.072346, -1.148116];
    thinker.forEach((value, index) => close(value ?? NaN, expected[index] ?? NaN, 'thinker'));
    const raw = creditsOf(trees, ['ccpo.normalise=none'], state);
    close(raw.solver[1] ?? NaN, 1.291204, 'solver (1, 1)');
    close(raw.thinker[3] ?? NaN, -0.934459, 'thinker (0, 1)');
    // The order of the reference, section 10: role 2 (1, 1) > (1, 0) ~ (0, 1) > (0, 0).
    const [helped, both, none, hurt] = solver.map((one) => one ?? NaN);
    assert.ok((both ?? NaN) > (helped ?? NaN) && (helped ?? NaN) > (hurt ?? NaN) && (hurt ?? NaN) > (none ?? NaN));
  });

  it('is shaped by the statistics before the step, or by those that the step has updated', () => {
    const trees = treesOf([1, 1, 0, 0], [0, 1, 0, 1]);
    const before = toStatisticsState(updateStatistics(NO_STATISTICS, BATCHES[0], 0.99));
    const options = ['ccpo.normalise=none', 'ccpo.decay=0.5'];
    const previous = creditsOf(trees, options, before);
    const own = creditsOf(trees, [...options, 'ccpo.order=updated'], before);
    assert.deepEqual(own.state, previous.state);
    // mu = .5 * .08333 + .5 * 0, var = .5 * .409722 + .5 * .5: by hand.
    close(own.thinker[0] ?? NaN, Math.tanh((1 - 1 / 24) / Math.sqrt(0.4548611)), 'updated');
    close(previous.thinker[0] ?? NaN, 0.892091, 'previous');
    // The paper's order shapes the first step too, once there are enough rollouts.
    const first = creditsOf(trees, ['ccpo.normalise=none', 'ccpo.order=updated', 'ccpo.min_samples=4']);
    close(first.thinker[0] ?? NaN, Math.tanh(1 / Math.sqrt(0.5)), 'first');
  });

  it('leaves out what was not measured, and keeps what it had where nothing was', () => {
    const { thinker, solver, state } = creditsOf(treesOf([1, null, 0], [0, 0, 0]), ['ccpo.normalise=none']);
    assert.deepEqual([thinker, solver, state.count], [[1, null, 0], [1, null, 0], 2]);
    const before = updateStatistics(NO_STATISTICS, BATCHES[0], 0.99);
    const none = creditsOf(treesOf([1, 0], [null, null]), [], toStatisticsState(before));
    assert.deepEqual([none.thinker, none.state], [[null, null], before]);
  });

  it('is 0 for a thinker that changes nothing, where a shared return would credit it', () => {
    const { thinker, solver } = creditsOf(treesOf([1, 0, 1, 0], [1, 0, 1, 0]), []);
    assert.deepEqual(thinker, [0, 0, 0, 0]);
    assert.ok((solver[0] ?? 0) > 0 && (solver[1] ?? 0) < 0);
  });
});

describe('where CCPO cannot be run', () => {
  const fault = (overrides: readonly string[], protocol = PAIR): string | null =>
    ccpo.fault(readConfig('', 'defaults', ['method=ccpo', ...overrides]), protocol);

  it('says why in one sentence', () => {
    assert.equal(fault([]), null);
    assert.equal(fault(['evaluator_budget=4']), null);
    assert.match(fault(['evaluator_budget=3']) ?? '', /^evaluator_budget \(3\) .* give ccpo at least 4\.$/u);
    assert.match(fault([], FOUR) ?? '', /^ccpo needs a protocol of two roles, .*; four is neither\.$/u);
    assert.match(
      fault(['ccpo.alternate_every=10', 'policies={reasoner: {learns: false}}']) ?? '',
      /and reasoner does not; set it to 0\.$/u,
    );
    assert.deepEqual(ccpo.remarks(readConfig('', 'defaults'), PAIR), []);
    assert.equal(ccpo.remarks(readConfig('', 'defaults', ['credit.group_normalise=true']), PAIR).length, 1);
  });
});

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

/** One after the other right and wrong, so that returns differ. */
const counting = (): Evaluator => {
  let calls = 0;
  return { name: 'counting', evaluate: () => Promise.resolve({ score: ++calls % 3 === 0 ? 1 : 0, rule: 'counted' }) };
};

const world = async (t: TestContext, overrides: readonly string[]): Promise<TinyRun> => {
  const run = await tinyWorld(t, team.folder);
  await run.start({
    train: sums(3),
    evaluation: [],
    evaluator: counting(),
    overrides: ['method=ccpo', 'evaluation.instances=0', ...overrides],
  });
  return run;
};

const messagesIn = ({ store }: TinyRun, iteration: number): ReturnType<typeof store.transcript>['messages'] =>
  store.transcript({ run: 'run-1', phase: 'train', iteration, problem: sums(1)[0]?.uidSha ?? '', offset: 0, limit: 99 })
    .messages;

describe('a run of CCPO', () => {
  it('samples solo rollouts below an empty message of the thinker, and never learns from them', async (t) => {
    const run = await world(t, ['steps=1']);
    const { store } = run;
    const messages = messagesIn(run, 1);
    const solo = messages.filter(({ bucket }) => bucket === null).map(({ id }) => store.fullMessage(id));
    const [empty, ...solvers] = solo;
    assert.deepEqual([empty?.text, empty?.finish, empty?.position, solvers.length], ['', 'typed', 0, 4]);
    for (const solver of solvers) {
      assert.deepEqual([solver.position, solver.parent], [1, empty?.id]);
      assert.equal(solver.context, `Solve.\n\nProblem:\n${sums(1)[0]?.question ?? ''}\n`);
    }
    const streams = messages.map(({ id }) => store.fullMessage(id).streamKey).filter((key) => key !== '');
    assert.deepEqual([streams.length, new Set(streams).size], [12, 12]);
    assert.ok(messages.every(({ bucket, trainingCredit }) => (bucket === null) === (trainingCredit === null)));
    assert.equal(store.learnedReturns('run-1', 1).length, 3 * 4);
    const { metrics, ledger } = store.steps('run-1', 0, 1)[0] ?? assert.fail();
    assert.equal(ledger.evaluatorCalls + (ledger.reusedEvaluations ?? 0), 3 * 8);
    // What the step shows is the state that it left.
    const statistics = readStatistics(store.methodState('run-1', 1) ?? assert.fail());
    assert.deepEqual(
      [metrics?.contribution, metrics?.jointReturn, metrics?.soloReturn, metrics?.gate],
      [statistics.contribution.mean, statistics.joint.mean, statistics.solo.mean, computeGate(statistics, 1)],
    );
    assert.equal(statistics.count, 12);
    // A report has every rollout beside the solo rollout of its number.
    const removal = removalReport(store, 'run-1') ?? assert.fail();
    assert.deepEqual([removal.rollouts, removal.others], [12, 0]);
    const { tokens, soloTokens, rollouts } = removal.thinker?.overhead ?? assert.fail();
    // The empty message of each question has an end token, which nothing sampled.
    assert.deepEqual([rollouts, tokens + soloTokens], [12, ledger.tokens.completion - 3]);
    const returnsOf = (without: boolean): (number | null)[] =>
      [1, 2, 3].flatMap((number) =>
        store
          .episodes({ run: 'run-1', phase: 'train', iteration: 1, offset: 0, limit: 99 })
          .filter(({ problem }) => problem === sums(3)[number - 1]?.uidSha)
          .filter(({ leaf }) => (store.chain(leaf)[0]?.text === '') === without)
          .map((episode) => episode.return),
      );
    const [joints, solos] = [returnsOf(false), returnsOf(true)];
    for (const { joint, solo, role, credits, shared } of removal.outcomes) {
      const expected = joints.filter((value, place) => value === joint && solos[place] === solo).length;
      assert.deepEqual([credits?.n ?? 0, shared?.n ?? 0], [expected, expected], `${role} ${String([joint, solo])}`);
    }
    assert.deepEqual(removal.contributions, [
      {
        role: 'thinker',
        points: [
          { step: 1, mean: statistics.contribution.mean, deviation: Math.sqrt(statistics.contribution.variance) },
        ],
      },
    ]);
  });

  it('draws the numbers of the episode of the same number where it is asked to', async (t) => {
    const run = await world(t, ['steps=1', 'ccpo.solo_draws=shared']);
    const messages = messagesIn(run, 1).filter(({ position }) => position === 1);
    const keys = (solo: boolean): string[] =>
      messages.filter(({ bucket }) => (bucket === null) === solo).map(({ id }) => run.store.fullMessage(id).streamKey);
    assert.deepEqual([keys(true), new Set(keys(true)).size], [keys(false), 4]);
    assert.equal(removalReport(run.store, 'run-1')?.rollouts, 12);
  });

  it('keeps the heading of an empty plan where it is asked to, and replays such a message', async (t) => {
    const run = await world(t, ['steps=1', 'ccpo.solo_prompt=empty_plan']);
    const { store } = run;
    const solver = messagesIn(run, 1).find(({ bucket, position }) => bucket === null && position === 1);
    const question = sums(1)[0]?.question ?? '';
    assert.ok(solver !== undefined);
    const { context } = store.fullMessage(solver.id);
    assert.equal(context, `Solve.\n\nProblem:\n${question}\n\nContext:\n`);
    const branch = await readFrozenBranch(store.fullMessage(solver.id), { store, protocol: PAIR, render: renderPlain });
    assert.equal(branch.headed, true);
  });

  it('takes turns in blocks of steps, and keeps the statistics of both', async (t) => {
    const learned: string[][] = [];
    const run = await tinyWorld(t, team.folder);
    await run.start({
      train: sums(3),
      evaluation: [],
      evaluator: counting(),
      overrides: ['method=ccpo', 'evaluation.instances=0', 'steps=4', 'ccpo.alternate_every=2'],
      wrap: watchingSteps((contexts) => learned.push([...new Set(contexts.map(({ role }) => role ?? ''))])),
    });
    assert.deepEqual(learned, [['reasoner'], ['reasoner'], ['actor'], ['actor']]);
    assert.equal(readStatistics(run.store.methodState('run-1', 4) ?? assert.fail()).steps, 4);
  });

  it('clips as the published code where it is asked to, and by tokens alone otherwise', () => {
    const lossOf = (...overrides: readonly string[]): unknown => {
      const settings = readConfig('', 'defaults', ['method=ccpo', ...overrides]);
      const step = {
        settings,
        iteration: 1,
        state: toStatisticsState(NO_STATISTICS),
        roles: [],
        nodes: [],
        random: () => () => 0,
      };
      const updates = ccpo.updates(step);
      assert.ok(Symbol.iterator in updates);
      const first = updates.next({}).value;
      return first?.kind === 'policy' ? first.loss : assert.fail();
    };
    assert.equal(lossOf(), undefined);
    assert.deepEqual(lossOf('ccpo.ratio=message', 'ccpo.dual_clip=3'), { ratio: 'message-mean', dualClip: 3 });
  });
});
