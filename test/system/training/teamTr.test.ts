/** Method teamtr: its turns update by update, and what a whole run stores, learns from and comes back to. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { standardScore } from '../../../src/credit/standardScore.ts';
import type { Json } from '../../../src/domain/episode.ts';
import { listShownRanks, type MethodState, type StepMetrics } from '../../../src/domain/step.ts';
import { formatDiagnosis } from '../../../src/engine/commandLine/measures.ts';
import { diagnose } from '../../../src/engine/diagnose/diagnose.ts';
import type { ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import type { Divergence } from '../../../src/training/divergence.ts';
import { findSamplingFault } from '../../../src/training/iteration.ts';
import { scaleToMessageMean } from '../../../src/training/lossWeights.ts';
import type { Outcome, Update } from '../../../src/training/methods/method.ts';
import { listMethodRemarks } from '../../../src/training/methods/methods.ts';
import { adaptKlWeight, teamTr } from '../../../src/training/methods/teamTr.ts';
import { findExactDivergenceFault } from '../../../src/training/penalty.ts';
import { findSnapshotAfter } from '../../../src/training/state/restore.ts';
import { teamFolder, TINY_CONFIG, tinyWorld, type TinyRun } from '../../unit/training/tinyRun.ts';
import { FOUR, PAIR, sums } from '../../unit/training/tinyTeam.ts';
import { watching } from '../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const close = (a: number, b: number, within = 1e-6): void => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const configOf = (...overrides: readonly string[]) =>
  readConfig(TINY_CONFIG, 'tiny.c3.yaml', ['method=teamtr', ...overrides]);

describe('the parts of an update', () => {
  it('standardize returns as the reference does', () => {
    // TeamTR reference, section 5.
    const returns = [1, 0, 0, 1, 0, 0, 0, 0];
    const score = standardScore(returns, { scale: 'variance', epsilon: 1e-6, clip: null });
    close(score(1), 1.732046);
    close(score(0), -0.577349);
    // Its appendix adds epsilon to the root; the main text, which is followed by default, under it.
    const appendix = standardScore(returns, { scale: 'deviation', epsilon: 1e-6, clip: null });
    assert.equal(appendix(1).toFixed(6), '1.732047');
    close(appendix(1) - score(1), 6.1879e-7, 1e-10);
    const clipped = standardScore(returns, { scale: 'variance', epsilon: 1e-6, clip: 1.5 });
    assert.equal(clipped(1), 1.5);
    close(clipped(0), -0.577349);
    // Credits are returns less their mean.
    close(
      standardScore(
        returns.map((one) => one - 0.25),
        { scale: 'variance', epsilon: 1e-6, clip: null },
      )(0.75),
      1.732046,
    );
    assert.equal(standardScore([], { scale: 'variance', epsilon: 1e-6, clip: null })(0), 0);
  });

  it('count each message once, whatever its length', () => {
    const message = (length: number, advantage: number) => ({
      tokens: new Int32Array(length),
      behaviour: new Float32Array(length),
      reference: new Float32Array(length),
      advantages: new Float32Array(length).fill(advantage),
    });
    const { contexts, length } = scaleToMessageMean([
      { prompt: Int32Array.of(1), messages: [message(1, 3), message(5, -1)] },
      { prompt: Int32Array.of(1), messages: [message(3, 2)] },
    ]);
    assert.equal(length, 3);
    const tokens = contexts.flatMap(({ messages }) => messages.flatMap(({ advantages }) => [...advantages]));
    // The mean over the tokens of what they count is the mean over the messages.
    close(tokens.reduce((sum, one) => sum + one, 0) / 9, (3 - 1 + 2) / 3);
    assert.deepEqual(scaleToMessageMean([]), { contexts: [], length: 0 });
  });

  it('adapt the weight of the penalty', () => {
    const rule = { delta: 0.01, beta_factor: 2, beta_tolerance: 1.5 };
    for (const [kl, expected] of [
      [0.0151, 2],
      [0.0149, 1],
      [0.0067, 1],
      [0.0066, 0.5],
      [-0.2, 0.5],
    ] as const) {
      assert.equal(adaptKlWeight(1, kl, rule), expected, String(kl));
    }
    assert.deepEqual([adaptKlWeight(1e6, 1, rule), adaptKlWeight(1e-6, 0, rule)], [1e6, 1e-6]);
    assert.deepEqual([adaptKlWeight(0, 1, rule), adaptKlWeight(0, 0, rule)], [0, 0]);
    assert.equal(adaptKlWeight(3, 1, { ...rule, beta_factor: 1 }), 3);
  });
});

/** What the method asks for where each measured KL is the next of some; the last one stays. */
function asked(
  kls: readonly number[],
  overrides: readonly string[],
  json: Json = { beta: {} },
  iteration = 1,
): Update[] {
  const left = [...kls];
  const updates = teamTr.updates({
    settings: configOf(...overrides),
    iteration,
    state: { json, tensors: {} },
    roles: ['a', 'b', 'c'],
    nodes: [],
    random: (purpose) => (position) => ((purpose.length + position) * 0.37) % 1,
  }) as Generator<Update, void, Outcome>;
  const made: Update[] = [];
  for (let next = updates.next({}); next.done !== true;) {
    const update = next.value;
    made.push(update);
    const k3 = (update.kind === 'divergence' && left.length > 1 ? left.shift() : left[0]) ?? NaN;
    const moved: Divergence = { messages: 1, k1: -1, k3, exact: 7, gain: 0.5 };
    next = updates.next(
      update.kind === 'divergence' ? { divergence: new Map((update.roles ?? []).map((role) => [role, moved])) } : {},
    );
  }
  return made;
}

const kindsOf = (updates: readonly Update[]): string =>
  updates
    .map((update) => {
      switch (update.kind) {
        case 'policy':
          return `learn ${String(update.roles)} ${String(update.kl?.coefficient)}`;
        case 'revert':
          return `back ${update.share}`;
        case 'divergence':
          return update.ranks === true ? 'rank' : 'measure';
        default:
          return update.kind;
      }
    })
    .join(', ');

describe('a turn', () => {
  it('ends near the bound, and the next role begins with fresh episodes', () => {
    const updates = asked([0.004, 0.0095, 0.002], ['teamtr.epochs=2']);
    assert.equal(
      kindsOf(updates),
      [
        'keep, learn a 1, measure, learn a 0.5, measure, rollouts',
        'keep, learn b 1, measure, learn b 0.5, measure, rollouts',
        'keep, learn c 1, measure, learn c 0.5, measure, finish',
      ].join(', '),
    );
    const stopped = asked([0.0095], ['teamtr.epochs=9']);
    assert.equal(kindsOf(stopped).split('learn').length - 1, 3);
  });

  it('goes back part of the way, and the whole of it where that does not help', () => {
    const [turn = ''] = kindsOf(asked([0.05, 0.03, 0.009], [])).split(', rollouts');
    assert.equal(turn, 'keep, learn a 1, measure, back 0.5, measure, back 0.5, measure');
    const far = asked([0.05], ['teamtr.backtrack_tries=2', 'teamtr.backtrack=0.25']);
    assert.match(
      kindsOf(far),
      /^keep, learn a 1, measure, back 0\.25, measure, back 0\.25, measure, back 0, rollouts/u,
    );
    const end = far.at(-1);
    assert.ok(end?.kind === 'finish');
    assert.deepEqual(end.measures, { trustRegionKl: 0, surrogateGain: 0, klWeight: 2, outOfRegion: 1 });
    assert.deepEqual(end.state, { json: { beta: { a: 2, b: 2, c: 2 }, gain: { a: 0, b: 0, c: 0 } }, tensors: {} });
    assert.match(kindsOf(asked([0.05], ['teamtr.backtrack_tries=0'])), /^keep, learn a 1, measure, back 0, rollouts/u);
    // Probabilities by rank: before it goes back, and of what is left.
    const [ranked = ''] = kindsOf(asked([0.05, 0.05, 0.009], ['teamtr.rank_shifts=true'])).split(', rollouts');
    assert.equal(ranked, 'keep, learn a 1, measure, rank, back 0.5, measure, rank');
  });

  it('takes the weights of the step before, the estimator and the order that are asked for', () => {
    const turnsOf = (...overrides: readonly string[]): string[] =>
      asked([0.0095], overrides).flatMap((update) => (update.kind === 'policy' ? (update.roles ?? []) : []));
    assert.deepEqual(turnsOf(), ['a', 'b', 'c']);
    assert.deepEqual(turnsOf('teamtr.order=reverse'), ['c', 'b', 'a']);
    const beginning = (iteration: number): string | undefined =>
      asked([0.0095], ['teamtr.order=round_robin'], { beta: {} }, iteration).flatMap((update) =>
        update.kind === 'policy' ? (update.roles ?? []) : [],
      )[0];
    assert.deepEqual([1, 2, 3, 4].map(beginning), ['a', 'b', 'c', 'a']);
    const random = turnsOf('teamtr.order=random');
    assert.deepEqual(random.toSorted(), ['a', 'b', 'c']);
    assert.notDeepEqual(random, ['a', 'b', 'c']);
    const inOrder = (gain: Json): string[] =>
      asked([0.0095], ['teamtr.order=gain'], { beta: {}, gain }).flatMap((update) =>
        update.kind === 'policy' ? (update.roles ?? []) : [],
      );
    assert.deepEqual(inOrder({ a: 0.1, b: -0.2, c: 0.3 }), ['c', 'a', 'b']);
    assert.deepEqual(inOrder({ a: 0.1, c: 0.3 }), ['b', 'c', 'a']);
    const last = asked([0.0095], []).at(-1);
    assert.ok(last?.kind === 'finish');
    assert.equal(last.measures.surrogateGain, 1.5);
    const rollouts = (every: string): number[] =>
      asked([0.0095], [`teamtr.resample_every=${every}`])
        .filter(({ kind }) => kind === 'rollouts' || kind === 'keep')
        .flatMap(({ kind }, index) => (kind === 'rollouts' ? [index] : []));
    assert.deepEqual(['1', '2', '3', 'null'].map(rollouts), [[1, 3], [2], [], []]);
    assert.match(kindsOf(asked([0.0095], [], { beta: { b: 8 } })), /learn a 1, .*learn b 8, .*learn c 1,/u);
    // k1 is -1 here, and exact 7.
    assert.equal(kindsOf(asked([0.5], ['teamtr.kl_estimator=k1'])).includes('back'), false);
    assert.ok(kindsOf(asked([0], ['teamtr.kl_estimator=exact'])).includes('back'));
    const parts = asked([0], ['teamtr.held_out=4', 'teamtr.epochs=1']).flatMap((update) =>
      update.kind === 'policy' || update.kind === 'divergence' ? [update.batch] : [],
    );
    assert.deepEqual(
      parts.slice(0, 2).map((batch) => [batch?.index, batch?.of, batch?.count ?? 1]),
      [
        [0, 4, 3],
        [3, 4, 1],
      ],
    );
  });
});

const STEPS = 3;
const RUN = [
  'method=teamtr',
  `steps=${STEPS}`,
  'checkpoint_every=2',
  'evaluation.instances=0',
  'adapter={per: role, rank: 2}',
  'ppo.learning_rate=0.02',
  'teamtr.delta=0.05',
  'teamtr.kl_estimator=exact',
];

interface Learned {
  readonly roles: readonly (string | undefined)[];
  readonly advantages: readonly number[];
  readonly weight: number;
}

const start = (world: TinyRun, wrap?: (runtime: ModelRuntime) => ModelRuntime, overrides: readonly string[] = RUN) =>
  world.start({ evaluation: [], train: sums(3), overrides, ...(wrap !== undefined && { wrap }) });

const betaOf = (state: MethodState | null): Readonly<Record<string, number>> =>
  (state?.json as { readonly beta: Readonly<Record<string, number>> }).beta;

async function learnedIn(world: TinyRun, overrides: readonly string[] = RUN): Promise<Learned[]> {
  const learned: Learned[] = [];
  await start(
    world,
    watching((name, args) => {
      if (name !== 'step') {
        return;
      }
      const [contexts, { klCoefficient }] = args as Parameters<ModelRuntime['step']>;
      const messages = contexts.flatMap((context) => context.messages);
      const length = messages.reduce((sum, { tokens }) => sum + tokens.length, 0) / messages.length;
      learned.push({
        roles: [...new Set(contexts.map(({ role }) => role))],
        advantages: messages.map(({ advantages, tokens }) => ((advantages[0] ?? NaN) * tokens.length) / length),
        weight: klCoefficient / length,
      });
    }),
    overrides,
  );
  return learned;
}

describe('a run of teamtr', () => {
  it('spends its budget in equal parts, and learns from standard scores of the newest episodes', async (t: TestContext) => {
    const world = await tinyWorld(t, team.folder);
    const learned = await learnedIn(world);
    const { store } = world;
    const first = learned.filter(({ roles: [role] }, index) => role !== learned[index - 1]?.roles[0]);
    assert.deepEqual(
      first.map(({ roles }) => roles),
      Array.from({ length: STEPS }, () => [['reasoner'], ['actor']]).flat(),
    );
    for (let step = 1; step <= STEPS; step++) {
      for (const stage of [0, 1]) {
        const messages = store.trainingMessages('run-1', step, 'magrpo', stage);
        // Three problems with four episodes of two messages.
        assert.equal(messages.length, 24);
        const role = stage === 0 ? 'reasoner' : 'actor';
        const own = messages.filter(({ role: speaker }) => speaker === role);
        const expected = own.map(({ problem, credit }) => {
          const credits = own.filter((one) => one.problem === problem).map((one) => one.credit ?? assert.fail());
          const variance = credits.reduce((sum, one) => sum + one ** 2, 0) / credits.length;
          return (credit ?? assert.fail()) / Math.sqrt(variance + 1e-6);
        });
        const given = first[2 * (step - 1) + stage]?.advantages ?? [];
        assert.equal(given.length, expected.length);
        for (const [index, value] of given.toSorted((a, b) => a - b).entries()) {
          close(value, expected.toSorted((a, b) => a - b)[index] ?? NaN, 1e-4);
        }
      }
      const metrics = store.steps('run-1', step - 1, 1)[0]?.metrics ?? assert.fail();
      assert.ok(metrics.trustRegionKl !== undefined && metrics.trustRegionKl <= 0.05);
      // Both samplings of a step are of the same questions, and so are equally many episodes.
      const returns = new Map(
        store
          .episodes({ run: 'run-1', phase: 'train', iteration: step, offset: 0, limit: 100 })
          .map((one) => [one.leaf, one.return ?? assert.fail()]),
      );
      const [before = NaN, after = NaN] = [0, 1].map((stage) => {
        const own = store
          .trainingMessages('run-1', step, 'magrpo', stage)
          .flatMap(({ message }) => returns.get(message) ?? []);
        assert.equal(own.length, 12);
        return own.reduce((sum, one) => sum + one, 0) / 12;
      });
      close(metrics.measuredImprovement ?? NaN, after - before, 1e-12);
      const { effectiveSample = NaN, largestWeight = NaN, occupancyShift = NaN, certificate = NaN } = metrics;
      assert.ok(effectiveSample >= 1 / 12 && effectiveSample < 1 && largestWeight > 1, JSON.stringify(metrics));
      assert.ok(occupancyShift > 0 && occupancyShift <= 2 * Math.SQRT2 * Math.sqrt(0.05));
      // With a discount of one half: what two roles' updates can promise at most, and lose at most.
      assert.ok(certificate < 2 * 2 * 0.2 && certificate > -2 * 2 * 0.2 - 2 * occupancyShift - 1);
      assert.ok((metrics.confidentCertificate ?? NaN) < certificate);
    }
    const diagnosis = diagnose(store, 'run-1', { origin: null, estimator: 'magrpo', protocol: PAIR });
    assert.deepEqual([diagnosis.certificate?.steps, diagnosis.certificate?.compared], [STEPS, STEPS]);
    // Two samplings in each step: halves of both, and halves of the first.
    const { contextDrift, stability } = diagnosis;
    assert.deepEqual([contextDrift?.plugIn.n, stability?.n], [STEPS, STEPS - 1]);
    close(
      contextDrift?.excess.value ?? NaN,
      (contextDrift?.plugIn.value ?? NaN) - (contextDrift?.samePolicy.value ?? NaN),
      1e-12,
    );
    assert.match(
      formatDiagnosis(diagnosis),
      /context drift {5}[\d.]+ .*n 3\n.*by chance.*\n.*beyond chance.*\n {2}stability/u,
    );
    assert.match(
      formatDiagnosis(diagnosis),
      /certificate {7}-?[\d.]+ .*in the last of 3 steps; .* above the measured/u,
    );
    const [last] = store.steps('run-1', STEPS - 1, 1);
    const { evaluatorCalls = 0, reusedEvaluations = 0 } = last?.ledger ?? {};
    assert.equal(evaluatorCalls + reusedEvaluations, STEPS * 3 * 8);
    // What a step came to is what the next one begins with.
    for (let step = 1; step < STEPS; step++) {
      const carried = betaOf(store.methodState('run-1', step, 2));
      assert.deepEqual(betaOf(store.methodState('run-1', step + 1)), carried);
      close(first[2 * step]?.weight ?? NaN, carried['reasoner'] ?? NaN, 1e-6);
      close(first[2 * step + 1]?.weight ?? NaN, carried['actor'] ?? NaN, 1e-6);
    }
    assert.notDeepEqual(betaOf(store.methodState('run-1', STEPS, 2)), { reasoner: 1, actor: 1 });
  });

  it('measures drift where it is asked to, and learns the same', async (t: TestContext) => {
    const found: (readonly [string, Json])[] = [];
    for (const diagnostics of ['false', 'true']) {
      const world = await tinyWorld(t, team.folder);
      const asked = [
        `teamtr.diagnostics=${diagnostics}`,
        ...(diagnostics === 'true' ? ['teamtr.rank_shifts=true'] : []),
      ];
      await start(world, undefined, [...RUN, 'steps=2', ...asked]);
      const { store } = world;
      const { trainSeconds, generateSeconds, ...metrics } = store.steps('run-1', 1, 1)[0]?.metrics ?? assert.fail();
      assert.ok(trainSeconds >= 0 && generateSeconds >= 0);
      found.push([findSnapshotAfter(store, 'run-1', 2).id, { ...metrics }]);
      await world.giveBack();
    }
    const [[plain, without] = assert.fail(), [watched, measured] = assert.fail()] = found;
    assert.equal(watched, plain);
    const all = measured as StepMetrics;
    for (const [name, value] of Object.entries(without as StepMetrics)) {
      assert.equal(all[name as keyof StepMetrics], value, name);
    }
    // Two roles with weights of their own: the second's contexts are what the first one's update moved.
    assert.ok((all.occupancyDrift ?? 0) > 0 && (all.occupancyDrift ?? 1) < 1);
    assert.ok((all.staleGap ?? -1) >= 0 && (all.staleGap ?? 1) <= (all.staleGapBound ?? 0));
    assert.equal(all.staleGapTurn2, all.staleGap);
    assert.equal(Math.max(all.klTurn1 ?? NaN, all.klTurn2 ?? NaN), all.trustRegionKl);
    assert.ok((all.zetaProxy ?? 0) > 0 && (all.monitorError25 ?? 0) > 0);
    assert.equal(all.staleGapTurn1, undefined);
    assert.equal('rankInsideTurns' in (without as StepMetrics), false);
    const ranks = listShownRanks([all]);
    assert.ok(ranks.length > 0);
    for (const region of new Set(ranks.map((one) => one.region))) {
      const own = ranks.filter((one) => one.region === region);
      close(
        own.reduce((sum, { before }) => sum + before, 0),
        1,
      );
      close(
        own.reduce((sum, { after }) => sum + after, 0),
        1,
      );
      const single = own.slice(0, -1).map(({ before }) => before);
      assert.deepEqual(
        single.toSorted((one, other) => other - one),
        single,
      );
      assert.ok(own.some(({ before, after }) => Math.abs(after - before) > 1e-6));
    }
  });

  it('that samples once in a step learns the same in any order, on all of its budget', async (t: TestContext) => {
    const weights: string[] = [];
    for (const order of ['fixed', 'reverse']) {
      for (const every of ['null', '1']) {
        const world = await tinyWorld(t, team.folder);
        await start(world, undefined, [...RUN, 'steps=1', `teamtr.order=${order}`, `teamtr.resample_every=${every}`]);
        const { store } = world;
        assert.equal(store.stages('run-1', 1).length, every === 'null' ? 0 : 1);
        assert.equal(store.trainingMessages('run-1', 1, 'magrpo', 0).length, every === 'null' ? 48 : 24);
        weights.push(findSnapshotAfter(store, 'run-1', 1).id);
        await world.giveBack();
      }
    }
    const [naive, fresh, naiveReversed, freshReversed] = weights;
    assert.equal(naive, naiveReversed);
    assert.notEqual(fresh, freshReversed);
  });

  it('counts stale episodes by their importance weights where it is asked to', async (t: TestContext) => {
    const found: Learned[][] = [];
    for (const reuse of ['as_is', 'weighted']) {
      const world = await tinyWorld(t, team.folder);
      const stale = ['steps=1', 'teamtr.resample_every=null', `teamtr.reuse=${reuse}`];
      const learned = await learnedIn(world, [...RUN, ...stale]);
      found.push(learned.filter(({ roles: [role] }, index) => role !== learned[index - 1]?.roles[0]));
      if (reuse === 'weighted') {
        const { largestWeight = NaN } = world.store.steps('run-1', 0, 1)[0]?.metrics ?? {};
        const [, plain] = found[0] ?? [];
        const [, own] = found[1] ?? [];
        const weights = (own?.advantages ?? []).flatMap((value, index) => {
          const before = plain?.advantages[index] ?? NaN;
          return before === 0 ? [] : [value / before];
        });
        assert.ok(weights.length > 8 && weights.every((one) => one > 0 && one <= largestWeight + 1e-6));
        assert.ok(Math.max(...weights) - Math.min(...weights) > 1e-3, 'the first update moved them apart');
      }
      await world.giveBack();
    }
    // The first role's episodes are its own team's.
    assert.deepEqual(found[0]?.[0]?.advantages, found[1]?.[0]?.advantages);
  });

  it('takes back a role that cannot be held', async (t: TestContext) => {
    const world = await tinyWorld(t, team.folder);
    const undone = ['teamtr.delta=1e-12', 'teamtr.backtrack_tries=0', 'teamtr.epochs=1'];
    await learnedIn(world, [...RUN, ...undone]);
    const { store, base } = world;
    assert.equal(findSnapshotAfter(store, 'run-1', STEPS).id, base, 'nothing was learned');
    const metrics = store.steps('run-1', 0, 1)[0]?.metrics;
    assert.deepEqual(
      [
        metrics?.outOfRegion,
        metrics?.effectiveSample,
        metrics?.largestWeight,
        metrics?.occupancyShift,
        metrics?.certificate,
      ],
      [1, 1, 1, 0, 0],
    );
  });

  it('says what it needs', () => {
    assert.equal(findSamplingFault(configOf(), PAIR), null);
    assert.match(
      findSamplingFault(configOf('evaluator_budget=3'), PAIR) ?? '',
      /^evaluator_budget \(3\) pays for fewer than two episodes of a problem in each of 2 stages with the protocol/u,
    );
    assert.match(findSamplingFault(configOf('evaluator_budget=7'), FOUR) ?? '', /in each of 4 stages/u);
    assert.equal(findSamplingFault(configOf('evaluator_budget=8'), FOUR), null);
    // A role that does not learn has no turn.
    const answered = 'policies={reasoner: {learns: false}}';
    assert.equal(findSamplingFault(configOf('evaluator_budget=2', answered), PAIR), null);
    assert.match(listMethodRemarks(configOf(), PAIR).join(), /All roles share the weights/u);
    assert.deepEqual(listMethodRemarks(configOf('adapter={per: role}'), PAIR), []);
    assert.match(
      findExactDivergenceFault(configOf('teamtr.kl_estimator=exact'), 9000) ?? '',
      /^teamtr\.kl_estimator: An exact divergence/u,
    );
    assert.equal(findExactDivergenceFault(configOf('ppo.kl_estimator=exact'), 9000), null);
    assert.match(
      findExactDivergenceFault(configOf('teamtr.rank_shifts=true'), 9000) ?? '',
      /^teamtr\.rank_shifts: Probabilities by rank compare 9000/u,
    );
    assert.equal(findExactDivergenceFault(configOf('teamtr.rank_shifts=true'), 8192), null);
  });
});
