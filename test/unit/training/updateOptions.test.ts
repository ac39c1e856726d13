/** Runs whose configuration says how a step learns: what counts, what is left out, in how many updates. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { StepMetrics } from '../../../src/domain/step.ts';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { keepSignal } from '../../../src/training/silentMessages.ts';
import { range } from '../runtime/nd.ts';
import { teamFolder, tinyWorld, type TinyRun, type TinyRunOptions } from './tinyRun.ts';
import { sums } from './tinyTeam.ts';
import { rowsOf, watching } from './watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);
const SHORT = ['evaluation.instances=0', 'evaluator_budget=4', 'fanout=[2, 2]'];

/** What the runtime was given, call by call. */
interface Watched {
  readonly steps: (readonly TrainingContext[])[];
  readonly scored: (readonly TrainingContext[])[];
}

/** A run with what it gave its runtime. @param failing the step of the optimizer that breaks, from 0 */
async function watched(
  world: TinyRun,
  overrides: readonly string[],
  failing = -1,
  options: TinyRunOptions = {},
): Promise<Watched> {
  const seen: Watched = { steps: [], scored: [] };
  const wrap = watching((name, args) => {
    if (name === 'step') {
      seen.steps.push(args[0] as readonly TrainingContext[]);
      if (seen.steps.length - 1 === failing) {
        throw new C3Error('model', 'It broke.');
      }
    }
    if (name === 'score') {
      seen.scored.push(args[1] as readonly TrainingContext[]);
    }
  });
  await world.start({ overrides: [...SHORT, ...overrides], evaluation: [], ...options, wrap });
  return seen;
}

const messagesOf = (contexts: readonly TrainingContext[]): TrainingContext['messages'] =>
  contexts.flatMap(({ messages }) => messages);
const countOf = (calls: readonly (readonly TrainingContext[])[]): number => calls.flatMap(messagesOf).length;
const metricsOf = ({ store }: TinyRun): StepMetrics[] =>
  store.steps('run-1', 0, 10).map(({ metrics }) => metrics ?? assert.fail());
const near = (a: number | undefined, b: number | undefined): boolean => Math.abs((a ?? NaN) - (b ?? NaN)) < 1e-6;

describe('messages whose credit is 0', () => {
  it('cost no pass where no penalty is in the loss, and are counted all the same', async (t) => {
    const [skipping, whole] = [await begin(t), await begin(t)];
    const some = await watched(skipping, ['steps=1', 'ppo.kl_coefficient=0']);
    const all = await watched(whole, ['steps=1', 'ppo.kl_coefficient=0', 'ppo.skip_zero_credit=false']);
    const teaching = messagesOf(keepSignal(all.steps[0] ?? []));
    assert.ok(teaching.length > 2 && teaching.length < countOf(all.steps));
    assert.deepEqual(
      messagesOf(some.steps[0] ?? []).map(({ tokens, weight }) => [tokens, weight]),
      teaching.map(({ tokens, weight }) => [tokens, weight]),
    );
    assert.ok(teaching.every(({ weight }) => weight !== undefined));
    // Nor are they scored by the reference policy.
    assert.deepEqual([countOf(some.scored), countOf(all.scored)], [teaching.length, countOf(all.steps)]);
    const [[one], [other]] = [metricsOf(skipping), metricsOf(whole)];
    assert.ok(near(one?.loss, other?.loss) && near(one?.gradientNorm, other?.gradientNorm));
    assert.ok((one?.signal ?? 1) < 1 && one?.signal === other?.signal, String(one?.signal));
  });

  /** k3 in the loss, several updates in a step, and so few tokens in a micro-batch that some hold no other messages. */
  const PENALIZED = ['steps=2', 'ppo.kl_coefficient=0.5', 'ppo.mini_batches=2', 'memory.micro_batch_tokens=64'];
  const weightless = (contexts: readonly TrainingContext[]): number =>
    messagesOf(contexts).filter(({ weight }) => weight === 0).length;

  it('have no weight while the policy is the reference, and every bit of a run stays the same', async (t) => {
    for (const overrides of [['ppo.epochs=2'], ['ppo.kl_against=last', 'ppo.loss_weight=token']]) {
      const [skipping, whole] = [await begin(t), await begin(t)];
      const some = await watched(skipping, [...PENALIZED, ...overrides]);
      const all = await watched(whole, [...PENALIZED, ...overrides, 'ppo.skip_zero_credit=false']);
      assert.deepEqual(
        some.steps.map((contexts) => weightless(contexts) > 0),
        some.steps.map((_, update) => update === 0),
      );
      assert.ok(all.steps.every((contexts) => weightless(contexts) === 0));
      assert.deepEqual(rowsOf(skipping), rowsOf(whole));
      await skipping.giveBack();
      await whole.giveBack();
    }
  });

  it('cost nothing in steps that are silent from the beginning, and the optimizer counts these steps', async (t) => {
    // The problems of the first step are lost whatever is said.
    const evaluator: Evaluator = {
      name: 'late',
      evaluate: ({ uid }, text) =>
        Promise.resolve({ score: Number(uid.slice(4)) > 2 && text.includes('3') ? 1 : 0, rule: 'late' }),
    };
    const [skipping, whole] = [await begin(t), await begin(t)];
    const some = await watched(skipping, PENALIZED, -1, { evaluator });
    await watched(whole, [...PENALIZED, 'ppo.skip_zero_credit=false'], -1, { evaluator });
    const silent = some.steps.map((contexts) => weightless(contexts) === messagesOf(contexts).length);
    assert.deepEqual(silent, [true, true, false, false]);
    // The second step begins at the reference too.
    assert.ok(weightless(some.steps[2] ?? []) > 0);
    const taught = messagesOf(some.steps[2] ?? []).length - weightless(some.steps[2] ?? []);
    assert.equal(countOf(some.scored.slice(0, 3)), taught);
    assert.deepEqual(rowsOf(skipping), rowsOf(whole));
    assert.equal(skipping.store.steps('run-1', 0, 10)[0]?.snapshot, skipping.base);
  });

  it('cost no pass in any update where the penalty is on credited messages', async (t) => {
    const world = await begin(t);
    const { steps, scored } = await watched(world, [...PENALIZED, 'ppo.epochs=2', 'ppo.kl_on=credited']);
    const silent = (contexts: readonly TrainingContext[]): boolean =>
      messagesOf(contexts).some(({ advantages }) => advantages.every((one) => one === 0));
    assert.deepEqual(
      steps.map(silent),
      steps.map(() => false),
    );
    assert.equal(countOf(scored) * 2, countOf(steps));
    const all = await begin(t);
    await watched(all, [...PENALIZED, 'ppo.epochs=2']);
    const ends = [world, all].map(({ store }) => store.steps('run-1', 0, 10).at(-1)?.snapshot);
    assert.notEqual(ends[0], ends[1]);
    assert.ok(metricsOf(world).every(({ kl }) => kl > 0));
  });

  it('are learned from where a penalty in the loss moves them', async (t) => {
    const seen = await watched(await begin(t), ['steps=1']);
    assert.ok(messagesOf(seen.steps[0] ?? []).some(({ advantages }) => advantages.every((one) => one === 0)));
  });
});

describe('passes in mini-batches', () => {
  const OVERRIDES = ['steps=2', 'ppo.epochs=3', 'ppo.mini_batches=2', 'ppo.learning_rate=0.05'];

  it('learn from every message once in each pass, in another order, against the policy that sampled', async (t) => {
    const world = await begin(t);
    const { steps, scored } = await watched(world, OVERRIDES);
    assert.equal(steps.length, 2 * 3 * 2);
    const keys = (contexts: readonly TrainingContext[]): string[] =>
      messagesOf(contexts).map(({ tokens, behaviour }) => [...tokens, ...behaviour].join());
    for (const step of range(2)) {
      const passes = range(3).map((pass) => range(2).map((part) => keys(steps[6 * step + 2 * pass + part] ?? [])));
      const [first = []] = passes;
      for (const pass of passes) {
        assert.deepEqual(pass.flat().sort(), first.flat().sort());
        assert.ok(pass.every(({ length }) => length > 0));
      }
      assert.ok(new Set(passes.map(([part = []]) => [...part].sort().join(' '))).size > 1, 'passes differ');
    }
    // Each message is scored by the reference policy once.
    assert.equal(countOf(scored) * 3, countOf(steps));
    const metrics = metricsOf(world);
    assert.ok(metrics.every(({ effectiveClip = NaN }) => effectiveClip >= 0 && effectiveClip < 1));
    assert.ok(
      metrics.some(({ effectiveClip = 0, clipFraction }) => effectiveClip > 0 && clipFraction > 0),
      JSON.stringify(metrics),
    );
    // Of the first update alone.
    assert.ok(metrics.every(({ ratioDeviation }) => ratioDeviation < 1e-4));
  });

  it('clip nothing in the one update that a step has otherwise', async (t) => {
    const world = await begin(t);
    await watched(world, ['steps=1']);
    assert.deepEqual(
      metricsOf(world).map(({ effectiveClip }) => effectiveClip),
      [0],
    );
  });

  it('may be more than there are contexts', async (t) => {
    const world = await begin(t);
    const keys = ['steps=1', 'instances_per_step=1', 'ppo.mini_batches=7', 'credit.merge_contexts=false'];
    const { steps } = await watched(world, keys);
    // One context of the reasoner, one of the actor below each of two plans.
    assert.deepEqual(
      steps.map(({ length }) => length),
      [1, 1, 1],
    );
  });

  it('come to the same rows where an update broke and the run was resumed', async (t) => {
    const whole = await begin(t);
    await watched(whole, OVERRIDES);
    for (const failing of [0, 3, 8]) {
      const world = await begin(t);
      await assert.rejects(watched(world, OVERRIDES, failing), /It broke/);
      await world.resume({ overrides: [...SHORT, ...OVERRIDES], evaluation: [] });
      assert.deepEqual(rowsOf(world), rowsOf(whole), String(failing));
      await world.giveBack();
    }
  });
});

describe('dynamic sampling', () => {
  const OVERRIDES = ['method=magrpo', 'steps=3', 'instances_per_step=4', 'ppo.skip_zero_credit=false'];
  /** Every third question is solved whatever is said: it has no signal. */
  const evaluator: Evaluator = {
    name: 'some',
    evaluate: ({ uid }, text) =>
      Promise.resolve({ score: Number(uid.slice(4)) % 3 === 0 || text.includes('3') ? 1 : 0, rule: 'some' }),
  };
  const options = { evaluation: [], train: sums(12), evaluator };
  const problemsOf = ({ store }: TinyRun, iteration: number): string[] => [
    ...new Set(store.trainingMessages('run-1', iteration, 'magrpo', 0).map(({ problem }) => problem)),
  ];
  const loudOf = ({ store }: TinyRun, iteration: number): Set<string> =>
    new Set(
      store
        .trainingMessages('run-1', iteration, 'magrpo', 0)
        .flatMap(({ problem, credit }) => ((credit ?? 0) === 0 ? [] : [problem])),
    );
  const callsOf = ({ store }: TinyRun, iteration: number): number =>
    store.roundCost({ run: 'run-1', phase: 'train', iteration }).evaluatorCalls;

  it('replaces questions without a signal by the next ones, and makes no more calls than the step may', async (t) => {
    const [plain, world] = [await begin(t), await begin(t)];
    await watched(plain, OVERRIDES, -1, options);
    const { steps } = await watched(world, [...OVERRIDES, 'dynamic_sampling=true'], -1, options);
    let replaced = 0;
    for (const iteration of [1, 2, 3]) {
      assert.equal(problemsOf(plain, iteration).length, 4);
      assert.ok(callsOf(world, iteration) <= 4 * 4, String(callsOf(world, iteration)));
      const [all, loud] = [problemsOf(world, iteration), loudOf(world, iteration)];
      // The first ones are those of the step; those after them are of the next one.
      assert.deepEqual(
        all.slice(0, 4).sort(),
        Array.from({ length: 4 }, (_, index) => options.train[((iteration - 1) * 4 + index) % 12]?.uidSha ?? '').sort(),
      );
      assert.ok(loud.size <= 4);
      replaced += all.length - 4;
      const taught = messagesOf(steps[iteration - 1] ?? []).length;
      assert.equal(
        taught,
        world.store.trainingMessages('run-1', iteration, 'magrpo', 0).filter(({ problem }) => loud.has(problem)).length,
        'nothing is learned from those without a signal',
      );
    }
    assert.ok(replaced > 0, 'some were replaced');
  });

  it('is the same again after an interruption, and where its steps are executed again', async (t) => {
    const overrides = [...OVERRIDES, 'dynamic_sampling=true'];
    const [whole, cut] = [await begin(t), await begin(t)];
    await watched(whole, overrides, -1, options);
    await assert.rejects(watched(cut, overrides, 1, options), /It broke/);
    await cut.resume({ overrides: [...SHORT, ...overrides], ...options });
    assert.deepEqual(rowsOf(cut), rowsOf(whole));
  });
});

describe('scaled credits', () => {
  const varianceOf = (values: readonly number[]): number => {
    const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
    return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / values.length;
  };
  const METHOD = ['method=mappo', 'steps=1', 'value_head.warmup_steps=0', 'credit.group_normalise=true'];
  const advantagesIn = async (t: TestContext, ...overrides: readonly string[]): Promise<number[][]> => {
    const { steps } = await watched(await begin(t), [...METHOD, 'ppo.skip_zero_credit=false', ...overrides]);
    return (steps[0] ?? []).map(({ messages }) =>
      messages.flatMap(({ advantages, copies = 1 }) => Array<number>(copies).fill(advantages[0] ?? NaN)),
    );
  };

  it('of mappo are those of the whole step, as published, or of each group', async (t) => {
    const published = (await advantagesIn(t)).flat();
    assert.ok(Math.abs(varianceOf(published) - 1) < 1e-3, String(varianceOf(published)));
    assert.ok(Math.abs(published.reduce((sum, value) => sum + value, 0)) < 1e-3);
    // A context of the first role is a group of its own: what its messages have in common is taken out.
    const [first = []] = await advantagesIn(t, 'credit.normalise_scope=group');
    assert.ok(first.length > 1 && Math.abs(first.reduce((sum, value) => sum + value, 0)) < 1e-3);
  });
});
