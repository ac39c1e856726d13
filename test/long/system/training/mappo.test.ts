/**
 * MAPPO and value-assisted C3 on a tiny team: what is judged, what the credits are, what the value head learns, and
 * whole runs.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Message } from '../../../../src/domain/message.ts';
import type { Evaluator } from '../../../../src/evaluate/evaluator.ts';
import { loadTokenizer, type LoadedTokenizer } from '../../../../src/policy/tokenizer.ts';
import type { ModelRuntime } from '../../../../src/runtime/modelRuntime.ts';
import type { ValueExample, ValueSettings, ValueState } from '../../../../src/runtime/train/valueHead.ts';
import type { Protocol } from '../../../../src/team/protocol.ts';
import { renderContext, renderPlain } from '../../../../src/team/render.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { listMethodRemarks } from '../../../../src/training/methods/methods.ts';
import { collectStates, renderState } from '../../../../src/training/state/states.ts';
import { teamFolder, tinyWorld, type TinyRun, type TinyRunOptions } from '../../../unit/training/tinyRun.ts';
import { FOUR, PAIR, sums } from '../../../unit/training/tinyTeam.ts';
import { failing } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
let tokenizer: LoadedTokenizer;
before(async () => {
  team = await teamFolder();
  tokenizer = await loadTokenizer(team.folder);
});
after(() => team.remove());

const STEPS = 3;
/** A head that learns by steps of its own, from the first one on beside the policy. */
const BY_STEPS = ['value_head.fit=gradient', 'value_head.warmup_steps=0'];
const INSTANCES = sums(3);
const CHECKPOINTS: Protocol = {
  ...PAIR,
  occurrences: PAIR.occurrences.map((occurrence) => ({ ...occurrence, scored: true })),
};

interface Judged extends TinyRun {
  /** Text of each state that was asked about -> its value, step by step. */
  readonly values: Map<string, number>[];
  readonly learned: {
    readonly states: readonly string[];
    readonly examples: readonly ValueExample[];
    readonly settings: ValueSettings;
    readonly loss: number;
  }[];
  /** The runtime's methods that move something, in order. */
  readonly order: string[];
}

/** A run of MAPPO without evaluations, with what passed between it and its value head. */
async function judged(
  t: TestContext,
  overrides: readonly string[] = [],
  options: TinyRunOptions = {},
): Promise<Judged> {
  const world = await tinyWorld(t, team.folder);
  const seen: Pick<Judged, 'values' | 'learned' | 'order'> = { values: [], learned: [], order: [] };
  const textOf = ({ role, tokens }: ValueState): string => `${role ?? ''} ${tokens.join()}`;
  const wrap = (runtime: ModelRuntime): ModelRuntime =>
    new Proxy(runtime, {
      get: (target, name): unknown => {
        if (name === 'values') {
          return async (states: readonly ValueState[], signal: AbortSignal) => {
            const found = await target.values(states, signal);
            seen.values.push(new Map(states.map((state, index) => [textOf(state), found[index] ?? NaN])));
            return found;
          };
        }
        if (name === 'learnValues') {
          return async (
            states: readonly ValueState[],
            examples: readonly ValueExample[],
            settings: ValueSettings,
            signal: AbortSignal,
          ) => {
            seen.order.push(name);
            const report = await target.learnValues(states, examples, settings, signal);
            seen.learned.push({ states: states.map(textOf), examples, settings, loss: report.loss });
            return report;
          };
        }
        if (name === 'step' || name === 'generate') {
          seen.order.push(name);
        }
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  await world.start({
    evaluation: [],
    train: INSTANCES,
    wrap,
    ...options,
    overrides: ['method=mappo', `steps=${STEPS}`, 'evaluation.instances=0', ...BY_STEPS, ...overrides],
  });
  return { ...world, ...seen };
}

const advantageOf = (example: ValueExample): number =>
  'advantage' in example ? example.advantage : assert.fail('it has a target of its own');

/** The tokens of a state by hand: the context that a message answers, where its role sees all that was said. */
const asked = (role: string, context: string): string => `${role} ${tokenizer.encode(context).join()}`;

describe('the state of a message', () => {
  it('is its context where its role sees everything, and holds what parallel roles said where it does not', async () => {
    const form = { protocol: FOUR, render: renderPlain };
    const messages = new Map([
      [0, 'a plan'],
      [1, 'to the left'],
      [2, 'to the right'],
    ]);
    const context = (position: number): string => renderPlain(renderContext(FOUR, position, 'How many?', messages));
    const state = (position: number): Promise<string> =>
      renderState(form, { position, question: 'How many?', messages });
    assert.equal(await state(0), context(0));
    assert.equal(await state(1), context(1));
    assert.ok(!context(2).includes('to the left'));
    assert.equal(await state(2), 'Solve.\n\nProblem:\nHow many?\n\nContext:\na plan\n\nto the left\n');
    const last = await state(3);
    assert.ok(last.includes('a plan') && last.includes('to the left') && last.includes('to the right'));
  });

  it('is asked about once however many messages answer it, and keeps its end where it is too long', async () => {
    const form = { protocol: PAIR, render: renderPlain, tokenizer, maxPositions: 12 };
    const moment = (position: number, plan: string): Parameters<typeof collectStates>[1][number] => ({
      position,
      question: 'How many pens?',
      messages: new Map([[0, plan]]),
    });
    const { states, places } = await collectStates(form, [
      moment(0, ''),
      moment(0, 'x'),
      moment(1, '2+1'),
      moment(1, '2+2'),
      moment(1, '2+1'),
    ]);
    assert.deepEqual(places, [0, 0, 1, 2, 1]);
    const whole = tokenizer.encode(await renderState(form, moment(1, '2+1')));
    assert.ok(whole.length > 12);
    assert.deepEqual([...(states[1]?.tokens ?? [])], [...whole.slice(-12)]);
    assert.deepEqual(
      states.map(({ role }) => role),
      ['reasoner', 'actor', 'actor'],
    );
  });
});

describe('a run of MAPPO', () => {
  it('credits every message with its return minus the value of its state, and teaches the head just that', async (t) => {
    const { store, values, learned, order } = await judged(t);
    assert.deepEqual([values.length, learned.length], [STEPS, STEPS]);
    // Sampling, then the head, then the policy: values are those from which the advantages were taken.
    assert.deepEqual(order, Array<string[]>(STEPS).fill(['generate', 'generate', 'learnValues', 'step']).flat());
    for (const [index, found] of values.entries()) {
      const iteration = index + 1;
      const advantages: string[] = [];
      for (const { uidSha } of INSTANCES) {
        const { messages } = store.transcript({
          run: 'run-1',
          phase: 'train',
          iteration,
          problem: uidSha,
          offset: 0,
          limit: 1000,
        });
        assert.equal(messages.length, 16);
        for (const { id, role, trainingCredit: credit, return: value } of messages) {
          const state = asked(role, store.fullMessage(id).context);
          const expected = (value ?? NaN) - (found.get(state) ?? NaN);
          assert.equal(credit?.estimator, 'mappo');
          assert.ok(Math.abs(credit.value - expected) < 1e-12, `${credit.value} is not ${expected}`);
          advantages.push(`${state} ${credit.value}`);
        }
      }
      const { states = [], examples = [], settings, loss } = learned[index] ?? {};
      const given = examples.map(advantageOf);
      assert.deepEqual(
        examples.map(({ state }, place) => `${states[state] ?? ''} ${String(given[place])}`).sort(),
        advantages.sort(),
      );
      assert.deepEqual([settings?.epochs, settings?.clip], [8, 0.5]);
      assert.ok(
        Math.abs((loss ?? NaN) - given.reduce((sum, advantage) => sum + advantage ** 2, 0) / 2 / given.length) < 1e-12,
      );
      assert.equal(store.steps('run-1', index, 1)[0]?.metrics?.valueLoss, loss);
    }
    assert.deepEqual(new Set(values[0]?.values()), new Set([0]));
    assert.ok([...(values[1]?.values() ?? [])].every((value) => value !== 0));
  });

  it('lowers its value loss on questions that come again', async (t) => {
    const { learned } = await judged(
      t,
      ['steps=12', 'instances_per_step=6', 'value_head.learning_rate=0.02', 'ppo.learning_rate=0.00001'],
      { train: sums(6) },
    );
    const losses = learned.map(({ loss }) => loss);
    const mean = (some: readonly number[]): number => some.reduce((sum, value) => sum + value, 0) / some.length;
    // Answers are right by chance about half of the time: the best that a value can do is half their variance, 1/8.
    assert.ok((losses[0] ?? 0) > 0.18 && mean(losses.slice(-4)) < 0.135, losses.join());
  });

  it('follows the schedule of the policy with a rate of its own', async (t) => {
    const { learned } = await judged(t, [
      'value_head.learning_rate=0.5',
      'ppo.warmup_fraction=0.5',
      'ppo.final_fraction=0',
    ]);
    const rates = learned.map(({ settings }) => settings.learningRate);
    // Two steps of warm-up, then the top.
    for (const [index, rate] of [0.25, 0.5, 0.5].entries()) {
      assert.ok(Math.abs((rates[index] ?? NaN) - rate) < 1e-12, rates.join());
    }
  });

  it('is the same run again with the same seed, and the head counts from the second step on', async (t) => {
    const [first, again] = [await judged(t), await judged(t)];
    const names = ({ store }: TinyRun): string[] => store.snapshotsOfRun('run-1').map(({ id }) => id);
    assert.deepEqual(names(again), names(first));
    assert.deepEqual(again.values, first.values);
    const other = await judged(t, ['value_head.learning_rate=0.5']);
    assert.deepEqual(names(other).slice(0, 2), names(first).slice(0, 2), 'the first step knows no value yet');
    assert.notEqual(names(other)[2], names(first)[2]);
  });

  it('gives a masked episode no credit and the head nothing of it; one episode is enough', async (t) => {
    let calls = 0;
    const evaluator: Evaluator = {
      name: 'breaking',
      evaluate: () =>
        Promise.resolve(
          ++calls % 2 === 0 ? { score: null, rule: 'broken', masked: 'It is broken.' } : { score: 1, rule: 'fixed' },
        ),
    };
    const { store, learned } = await judged(t, ['steps=1', 'evaluator_budget=1', 'instances_per_step=2'], {
      evaluator,
      train: sums(2),
    });
    assert.equal(learned[0]?.examples.length, 2);
    assert.deepEqual(store.steps('run-1', 0, 1)[0]?.ledger.evaluatorCalls, 2);
    await assert.rejects(
      judged(t, ['evaluator_budget=1'], { protocol: CHECKPOINTS }),
      /evaluator_budget \(1\) pays for no episode of a problem/,
    );
  });

  it('with scored messages on the way counts from each message on what follows: advantages of GAE with 1 and 1', async (t) => {
    const score = (text: string): number => (1 + (text.length % 4)) / 4;
    const evaluator: Evaluator = {
      name: 'length',
      evaluate: (_, text) => Promise.resolve({ score: score(text), rule: 'length' }),
    };
    const { store, values } = await judged(t, ['steps=2'], { protocol: CHECKPOINTS, evaluator });
    for (const { leaf, return: value } of store.episodes({
      run: 'run-1',
      phase: 'train',
      iteration: 2,
      offset: 0,
      limit: 100,
    })) {
      const chain = store.chain(leaf);
      const judgements = chain.map(({ id, role }) => values[1]?.get(asked(role, store.fullMessage(id).context)) ?? NaN);
      const rewards = chain.map(({ text }) => score(text));
      assert.equal(
        value,
        rewards.reduce((sum, reward) => sum + reward),
      );
      // Generalised advantages with gamma = lambda = 1: the rewards that are still to come, less the value.
      for (const [index, judgement] of judgements.entries()) {
        const advantage = rewards.slice(index).reduce((sum, reward) => sum + reward, 0) - judgement;
        assert.ok(Math.abs((chain[index]?.trainingCredit?.value ?? NaN) - advantage) < 1e-12);
      }
    }
  });

  it('trains an adapter of each role, and a team with parallel roles', async (t) => {
    for (const [overrides, protocol] of [
      [['adapter.per=role', 'adapter.rank=4'], PAIR],
      [['evaluator_budget=4'], FOUR],
    ] as const) {
      const { store, values } = await judged(t, overrides, { protocol });
      assert.equal(new Set(store.snapshotsOfRun('run-1').map(({ id }) => id)).size, STEPS + 1);
      assert.ok([...(values[2]?.values() ?? [])].every((value) => Number.isFinite(value) && value !== 0));
    }
  });
});

describe('a run of MAPPO with a head that is fitted', () => {
  const FITTED = ['value_head.fit=least_squares', 'value_head.warmup_steps=1'];

  it('lets it learn alone at first, and says what it explains of returns that it has not seen', async (t) => {
    const { order, store, learned } = await judged(t, FITTED);
    const [, first, ...others] = order.join(' ').split('learnValues');
    assert.ok(first?.includes('step') === false && others.every((one) => one.includes('step')), order.join(' '));
    assert.deepEqual(
      learned.map(({ settings }) => settings.leastSquares),
      Array(STEPS).fill({ ridge: 20, keep: 0.95 }),
    );
    const [before, ...after] = store.steps('run-1', 0, STEPS).map(({ metrics }) => metrics?.explainedVariance);
    // A head that values everything at 0 explains what a constant does.
    assert.ok(Math.abs(before ?? NaN) < 1e-9, String(before));
    assert.ok(after.every((one) => one === undefined || (one <= 1 && Math.abs(one) > 1e-9)));
    const [base, one] = store.snapshotsOfRun('run-1');
    assert.equal(base?.iteration, 0);
    assert.ok((one?.iteration ?? 0) > 1, 'the first step left the weights as they were');
  });

  it('is the same again after an interruption', async (t) => {
    const ends = async (broken: boolean): Promise<unknown> => {
      const world = await tinyWorld(t, team.folder);
      const options = {
        evaluation: [],
        train: INSTANCES,
        overrides: ['method=mappo', 'steps=4', 'checkpoint_every=2', 'evaluation.instances=0', ...FITTED],
      };
      if (broken) {
        const wrap = failing('learnValues', 4);
        await assert.rejects(world.start({ ...options, wrap }), /It broke/);
        await world.resume(options);
      } else {
        await world.start(options);
      }
      return [
        world.store.snapshotsOfRun('run-1').map(({ id }) => id),
        world.store.steps('run-1', 0, 4).map(({ metrics }) => [metrics?.valueLoss, metrics?.explainedVariance]),
      ];
    };
    assert.deepEqual(await ends(true), await ends(false));
  });
});

describe('a run of value-assisted C3', () => {
  const overrides = (alpha: number): string[] => [
    'method=c3',
    'credit.estimator=value_assisted',
    `credit.alpha=${alpha}`,
    'value_head.learning_rate=0.02',
    'credit.merge_contexts=false',
  ];
  const mean = (some: readonly number[]): number => some.reduce((sum, value) => sum + value, 0) / some.length;

  it('takes part of its baseline from what the head says of the other messages, which learns their mean returns', async (t) => {
    const alpha = 0.25;
    const { store, values, learned } = await judged(t, overrides(alpha));
    assert.deepEqual([values.length, learned.length], [STEPS, STEPS]);
    for (const [index, found] of values.entries()) {
      const targets: string[] = [];
      for (const { uidSha } of INSTANCES) {
        const { messages } = store.transcript({
          run: 'run-1',
          phase: 'train',
          iteration: index + 1,
          problem: uidSha,
          offset: 0,
          limit: 1000,
        });
        const judgement = ({ id, role }: Message): string =>
          `${asked(role, store.fullMessage(id).context)},${store.fullMessage(id).tokens.join()}`;
        const valueOf = (message: Message): number =>
          found.get(judgement(message)) ?? assert.fail('a message that nobody judged');
        for (const message of messages) {
          const others = messages.filter(({ bucket, id }) => bucket === message.bucket && id !== message.id);
          const baseline =
            (1 - alpha) * mean(others.map((one) => one.return ?? NaN)) + alpha * mean(others.map(valueOf));
          assert.equal(message.trainingCredit?.estimator, 'value_assisted');
          assert.ok(Math.abs(message.trainingCredit.value - ((message.return ?? NaN) - baseline)) < 1e-12);
          targets.push(`${judgement(message)} ${String(message.return)}`);
        }
      }
      const { states = [], examples = [] } = learned[index] ?? {};
      assert.deepEqual(
        examples
          .map((example) => `${states[example.state] ?? ''} ${'target' in example ? String(example.target) : ''}`)
          .sort(),
        targets.sort(),
      );
    }
    assert.ok([...(values[2]?.values() ?? [])].every((value) => value !== 0));
  });

  it('is C3 where the values weigh nothing', async (t) => {
    const [assisted, plain] = [
      await judged(t, overrides(0)),
      await judged(t, ['method=c3', 'credit.merge_contexts=false']),
    ];
    const creditsOf = ({ store }: TinyRun): number[] =>
      INSTANCES.flatMap(({ uidSha }) =>
        store
          .transcript({ run: 'run-1', phase: 'train', iteration: 1, problem: uidSha, offset: 0, limit: 1000 })
          .messages.map(({ trainingCredit: credit }) => credit?.value ?? NaN),
      );
    const [some, same] = [creditsOf(assisted), creditsOf(plain)];
    assert.equal(some.length, 30);
    for (const [index, value] of some.entries()) {
      assert.ok(Math.abs(value - (same[index] ?? NaN)) < 1e-12);
    }
    assert.deepEqual([plain.values, plain.learned], [[], []]);
  });
});

describe('the remarks', () => {
  it('says where scaling undoes its values', () => {
    const remarks = (...overrides: readonly string[]): readonly string[] =>
      listMethodRemarks(readConfig('', 'x', ['method=mappo', ...overrides]), PAIR);
    assert.deepEqual(remarks(), []);
    assert.deepEqual(remarks('credit.group_normalise=true'), []);
    assert.match(
      remarks('credit.group_normalise=true', 'credit.normalise_scope=group').join('\n'),
      /mappo gives the first role the advantages of magrpo/,
    );
  });
});
