/**
 * Every method on a tiny team: the same evaluator budget, credits as the stored returns alone give them, and what the
 * optimiser gets to see of them.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Message } from '../../../src/domain/message.ts';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import type { StoreReader } from '../../../src/store/read/reader.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import {
  countCallsPerProblem,
  METHOD_NAMES,
  listMethodRemarks,
  type MethodName,
} from '../../../src/training/methods/methods.ts';
import { teamFolder, tinyWorld, type TinyRun, type TinyRunOptions } from '../../unit/training/tinyRun.ts';
import { FOUR, PAIR, sums } from '../../unit/training/tinyTeam.ts';
import { watchingSteps } from '../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const STEPS = 2;
const INSTANCES = sums(3);
/** Those that sample a step at its beginning; teamTr.test.ts has the one with stages. */
const AT_ONCE = METHOD_NAMES.filter((method) => method !== 'teamtr');
const TRAINED = AT_ONCE.filter((method) => method !== 'sft');
/** Those whose credits come from the returns of what they learn from alone. */
const COMPARING = ['c3', 'c3_no_replay', 'c3_full_mean', 'magrpo'] as const;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

interface Shown extends TinyRun {
  /** What each optimiser step was given. */
  readonly learned: (readonly TrainingContext[])[];
}

/** A run without evaluations. */
async function trained(t: TestContext, overrides: readonly string[], options: TinyRunOptions = {}): Promise<Shown> {
  const world = await tinyWorld(t, team.folder);
  const learned: (readonly TrainingContext[])[] = [];
  const wrap = watchingSteps((contexts) => learned.push(contexts));
  await world.start({
    evaluation: [],
    train: INSTANCES,
    wrap,
    ...options,
    overrides: ['evaluation.instances=0', ...overrides],
  });
  await world.giveBack();
  return { ...world, learned };
}

const finalWeights = (store: StoreReader): string => store.snapshotsOfRun('run-1').at(-1)?.id ?? '';

/** The messages of a step on one problem, and the leaves of each. */
function messagesOf(
  store: StoreReader,
  iteration: number,
  problem: string,
): { readonly messages: readonly Message[]; readonly leavesOf: (message: Message) => Message[] } {
  const { messages } = store.transcript({ run: 'run-1', phase: 'train', iteration, problem, offset: 0, limit: 1000 });
  const leavesOf = (message: Message): Message[] => {
    const below = messages.filter(({ parent }) => parent === message.id);
    return below.length === 0 ? [message] : below.flatMap(leavesOf);
  };
  return { messages, leavesOf };
}

/**
 * The credit of every message of a step on one problem, from the returns of its episodes alone.
 * @param merged whether equal contexts are compared together, equal messages share a credit, and a message without
 *   siblings has the credit before it
 */
function expectedCredits(
  store: StoreReader,
  method: MethodName,
  iteration: number,
  problem: string,
  merged: boolean,
): { readonly message: Message; readonly credit: number }[] {
  const { messages, leavesOf } = messagesOf(store, iteration, problem);
  const returns = new Map(
    store
      .episodes({ run: 'run-1', phase: 'train', iteration, offset: 0, limit: 1000 })
      .map((episode) => [episode.leaf, episode.return ?? assert.fail()]),
  );
  const worth = (message: Message): number => mean(leavesOf(message).map(({ id }) => returns.get(id) ?? assert.fail()));
  const isLone = ({ parent, id }: Message): boolean => messages.every((one) => one.id === id || one.parent !== parent);
  const inContext = (message: Message): Message[] =>
    messages.filter(
      (one) => one.position === message.position && one.contextKey === message.contextKey && !isLone(one),
    );
  /** By its own returns. */
  const ownCredit = (message: Message): number => {
    if (isLone(message)) {
      const before = messages.find(({ id }) => id === message.parent);
      return before === undefined ? NaN : ownCredit(before);
    }
    const all = inContext(message);
    return worth(message) - mean((method === 'c3' ? all.filter((one) => one !== message) : all).map(worth));
  };
  if (merged && (method === 'c3' || method === 'c3_full_mean')) {
    return messages.map((message) => ({
      message,
      credit: isLone(message)
        ? ownCredit(message)
        : mean(
            inContext(message)
              .filter(({ text }) => text === message.text)
              .map(ownCredit),
          ),
    }));
  }
  return messages.map((message) => {
    const others = messages.filter((one) => one.role === message.role && one.id !== message.id);
    const siblings = others.filter(({ parent }) => parent === message.parent);
    const own = worth(message);
    switch (method) {
      case 'c3':
        return { message, credit: own - mean(siblings.map(worth)) };
      case 'c3_full_mean':
        return { message, credit: siblings.length === 0 ? NaN : own - mean([own, ...siblings.map(worth)]) };
      case 'c3_no_replay':
        return { message, credit: own - mean(others.map(worth)) };
      case 'magrpo':
        return { message, credit: own - mean([own, ...others.map(worth)]) };
      case 'mappo':
      case 'teamtr':
      case 'ccpo':
      case 'sft':
        return assert.fail('its credits do not come from returns alone');
    }
  });
}

const SETTINGS: readonly {
  readonly protocol: Protocol;
  readonly overrides: readonly string[];
  readonly budget: number;
  readonly tree: Readonly<Record<string, number>>;
  readonly flat: Readonly<Record<string, number>>;
}[] = [
  { protocol: PAIR, overrides: [], budget: 8, tree: { reasoner: 2, actor: 8 }, flat: { reasoner: 8, actor: 8 } },
  {
    protocol: FOUR,
    overrides: ['fanout=[2,1,1,2]', 'evaluator_budget=4'],
    budget: 4,
    tree: { planner: 2, left: 2, right: 2, integrator: 4 },
    flat: { planner: 4, left: 4, right: 4, integrator: 4 },
  },
];

describe('every method', () => {
  for (const { protocol, overrides, budget, tree, flat } of SETTINGS) {
    it(`asks for the evaluations of its budget and no other, made or reused, with the protocol ${protocol.name}`, async (t) => {
      // CCPO is for a thinker and a solver.
      for (const method of AT_ONCE.filter((name) => name !== 'ccpo' || protocol === PAIR)) {
        let calls = 0;
        const evaluator: Evaluator = {
          name: 'counting',
          evaluate: () => Promise.resolve({ score: ++calls % 3 === 0 ? 1 : 0, rule: 'counted' }),
        };
        const world = await tinyWorld(t, team.folder);
        const evaluation = sums(2, 100);
        const summary = await world.start({
          protocol,
          train: INSTANCES,
          evaluation,
          evaluator,
          overrides: [...overrides, `method=${method}`],
        });
        await world.giveBack();
        const evaluated = evaluation.length;
        const spent = [
          2 * evaluated,
          ...world.store
            .steps('run-1', 0, 10)
            .map(({ ledger: { evaluatorCalls, reusedEvaluations = 0 } }) => evaluatorCalls + reusedEvaluations),
        ];
        const perStep = spent.slice(1).map((total, index) => total - (spent[index] ?? 0));
        if (method === 'sft') {
          // The team as it is: both evaluations are the whole run.
          assert.deepEqual(
            [perStep.length, summary.steps, summary.evaluatorCalls, calls, world.store.counts().buckets],
            [0, 0, 2 * evaluated, 2 * evaluated, 0],
          );
          assert.deepEqual(
            [summary.accuracy.after, summary.method, finalWeights(world.store)],
            [null, 'sft', world.base],
          );
          continue;
        }
        assert.deepEqual(perStep, [INSTANCES.length * budget, INSTANCES.length * budget], method);
        assert.deepEqual([summary.evaluatorCalls, summary.method], [calls, method]);
        const trees = method === 'c3' || method === 'c3_full_mean';
        // Half of the episodes of CCPO share one empty message in the place of the first.
        const shape = method === 'ccpo' ? { ...flat, reasoner: budget / 2 + 1 } : trees ? tree : flat;
        assert.deepEqual(
          summary.decisions,
          Object.fromEntries(
            Object.entries(shape).map(([role, count]) => [role, STEPS * INSTANCES.length * count + 4 * evaluated]),
          ),
          method,
        );
      }
    });

    const cases = COMPARING.flatMap((method) => [false, true].map((merged) => ({ method, merged })));
    it(`credits every message by the returns that are stored, with the protocol ${protocol.name}`, async (t) => {
      for (const { method, merged } of cases) {
        const keys = merged ? [] : ['credit.merge_contexts=false', 'credit.lone_messages=none'];
        const { store } = await trained(t, [...overrides, ...keys, `method=${method}`], { protocol });
        const estimator = { c3: 'loo', c3_full_mean: 'full_mean', c3_no_replay: 'loo', magrpo: 'magrpo' }[method];
        const credits: number[] = [];
        for (const iteration of [1, 2]) {
          for (const { uidSha } of INSTANCES) {
            for (const { message, credit } of expectedCredits(store, method, iteration, uidSha, merged)) {
              // A chain below one alternative has nothing to compare with: C3 gives it no credit.
              if (Number.isNaN(credit)) {
                assert.equal(message.trainingCredit, null);
              } else {
                assert.equal(message.trainingCredit?.estimator, estimator);
                assert.ok(
                  Math.abs(message.trainingCredit.value - credit) < 1e-12,
                  `${method} ${message.role}: ${message.trainingCredit.value} is not ${credit}`,
                );
                credits.push(credit);
              }
            }
          }
        }
        assert.ok(
          credits.some((credit) => credit !== 0),
          method,
        );
      }
    });
  }

  it('teaches every token of a message its credit, and every credited message', async (t) => {
    for (const method of TRAINED) {
      const { store, learned } = await trained(t, [`method=${method}`, 'value_head.warmup_steps=0']);
      for (const iteration of [1, 2]) {
        const stored = INSTANCES.flatMap(({ uidSha }) => messagesOf(store, iteration, uidSha).messages)
          // What is only measured is in no bucket.
          .filter(({ bucket }) => bucket !== null)
          .map(({ id, trainingCredit: credit }) => [
            [...store.fullMessage(id).tokens],
            Math.fround(credit?.value ?? NaN),
          ]);
        const given = (learned[iteration - 1] ?? [])
          .flatMap(({ messages }) => messages)
          .flatMap(({ tokens, advantages, copies = 1 }) => {
            assert.equal(new Set(advantages).size, 1);
            assert.equal(advantages.length, tokens.length);
            return Array.from({ length: copies }, () => [[...tokens], advantages[0]]);
          });
        const sorted = (some: readonly unknown[]): string[] => some.map((one) => JSON.stringify(one)).sort();
        assert.deepEqual(sorted(given), sorted(stored), method);
      }
    }
  });

  it('stores transcripts, buckets and replays alike: the episodes of a problem are the alternatives of its first context', async (t) => {
    for (const method of TRAINED.filter((name) => name !== 'ccpo')) {
      const { store } = await trained(t, [`method=${method}`, 'steps=1']);
      const views = store.bucketsOfRun({ run: 'run-1', origin: 'training', offset: 0, limit: 1000 });
      const tree = method === 'c3' || method === 'c3_full_mean';
      const shapes = views.map(({ alternatives }) => alternatives.map(({ returns }) => returns.length).join()).sort();
      const perProblem = tree ? ['1,1,1,1', '1,1,1,1', '4,4'] : [...Array<string>(8).fill('1'), '1,1,1,1,1,1,1,1'];
      assert.deepEqual(shapes, INSTANCES.flatMap(() => perProblem).sort(), method);
      assert.equal(store.countReplays('run-1'), INSTANCES.length * 16);
      assert.equal(store.countEpisodes({ run: 'run-1', phase: 'train', iteration: 1 }), INSTANCES.length * 8);
    }
  });

  it('shares random numbers where it is asked to, and only where none is in the baseline of its own draw', async (t) => {
    for (const method of TRAINED) {
      for (const common of [false, true]) {
        const { store } = await trained(t, [
          `method=${method}`,
          'steps=1',
          `credit.common_random_numbers=${String(common)}`,
        ]);
        const streams = messagesOf(store, 1, INSTANCES[0]?.uidSha ?? '')
          .messages.filter(({ role }) => role === 'actor')
          .map(({ id }) => store.fullMessage(id).streamKey);
        assert.deepEqual(
          [streams.length, new Set(streams).size],
          [8, common && (method === 'c3' || method === 'c3_full_mean') ? 4 : 8],
          method,
        );
      }
    }
  });

  it('gives an episode without a return no credit, and the others theirs without it', async (t) => {
    for (const method of ['magrpo', 'c3_no_replay'] as const) {
      let calls = 0;
      const evaluator: Evaluator = {
        name: 'breaking',
        evaluate: () =>
          Promise.resolve(
            ++calls % 4 === 0
              ? { score: null, rule: 'broken', masked: 'It is broken.' }
              : { score: calls % 4 === 1 ? 1 : 0, rule: 'fixed' },
          ),
      };
      const { store, learned } = await trained(t, [`method=${method}`, 'steps=1', 'instances_per_step=1'], {
        train: sums(1),
        evaluator,
        reuse: false,
      });
      const { messages } = messagesOf(store, 1, INSTANCES[0]?.uidSha ?? '');
      const credits = messages
        .filter(({ role }) => role === 'reasoner')
        .map(({ trainingCredit: credit }) => credit?.value ?? null);
      // Six of eight have a return, two of them 1.
      const [one, zero] = method === 'magrpo' ? [2 / 3, -1 / 3] : [4 / 5, -2 / 5];
      const expected = [one, one, zero, zero, zero, zero];
      const measured = credits.flatMap((credit) => credit ?? []).sort((a, b) => b - a);
      assert.equal(credits.length, 8);
      assert.equal(measured.length, 6);
      for (const [index, value] of expected.entries()) {
        assert.ok(Math.abs((measured[index] ?? NaN) - value) < 1e-12);
      }
      assert.equal(learned[0]?.flatMap((context) => context.messages).length, 12);
      assert.ok(
        messages.every(
          ({ parent, trainingCredit: credit }) =>
            parent === null ||
            (credit === null) === (messages.find(({ id }) => id === parent)?.trainingCredit === null),
        ),
        'a whole episode has one credit',
      );
    }
  });
});

describe('group normalisation', () => {
  const largest = ({ learned: [contexts = []] }: Shown, { learned: [others = []] }: Shown): number => {
    const flat = (some: readonly TrainingContext[]): number[] =>
      some.flatMap(({ messages }) => messages.flatMap(({ advantages }) => [...advantages]));
    const [a, b] = [flat(contexts), flat(others)];
    assert.ok(a.length === b.length && a.length > 0);
    return Math.max(...a.map((value, index) => Math.abs(value - (b[index] ?? NaN))));
  };

  for (const [plain, ablated] of [
    ['c3', 'c3_full_mean'],
    ['c3_no_replay', 'magrpo'],
  ] as const) {
    it(`erases what sets ${ablated} apart from ${plain}, which without it is there`, async (t) => {
      const runs = (overrides: readonly string[]): Promise<[Shown, Shown]> =>
        Promise.all([
          trained(t, [`method=${plain}`, 'steps=1', ...overrides]),
          trained(t, [`method=${ablated}`, 'steps=1', ...overrides]),
        ]);
      assert.ok(largest(...(await runs([]))) > 0.05);
      assert.ok(largest(...(await runs(['credit.group_normalise=true']))) < 1e-5);
    });
  }

  it('of whole episodes is over all of a role, whatever was before them', async (t) => {
    const { store, learned } = await trained(
      t,
      ['method=magrpo', 'steps=1', 'instances_per_step=1', 'credit.group_normalise=true'],
      { train: sums(1) },
    );
    const returns = store
      .episodes({ run: 'run-1', phase: 'train', iteration: 1, offset: 0, limit: 100 })
      .map((episode) => episode.return ?? assert.fail());
    const deviation = Math.sqrt(mean(returns.map((value) => (value - mean(returns)) ** 2)) + 1e-8);
    const expected = returns.map((value) => (value - mean(returns)) / deviation).sort((a, b) => a - b);
    for (const role of ['reasoner', 'actor']) {
      const given = (learned[0] ?? [])
        .filter(({ role: speaker }) => speaker === role)
        .flatMap(({ messages }) => messages.map(({ advantages }) => advantages[0] ?? NaN))
        .sort((a, b) => a - b);
      assert.equal(given.length, 8);
      for (const [index, value] of expected.entries()) {
        assert.ok(Math.abs((given[index] ?? NaN) - value) < 1e-5, role);
      }
    }
    assert.ok(deviation > 0.1);
  });
});

describe('remarks', () => {
  const remarks = (...overrides: readonly string[]): readonly string[] =>
    listMethodRemarks(readConfig('', 'x', overrides), PAIR);

  it('say where an ablation changes nothing, and where a budget is not the same', () => {
    assert.deepEqual(remarks(), []);
    assert.deepEqual(remarks('method=magrpo'), []);
    assert.deepEqual(remarks('method=c3_full_mean'), []);
    assert.match(
      remarks('method=c3_full_mean', 'credit.group_normalise=true').join('\n'),
      /^With credit\.group_normalise c3_full_mean gives the advantages of c3: .* changes nothing\.$/,
    );
    assert.match(
      remarks('method=c3_no_replay').join('\n'),
      /^c3_no_replay gives the advantages of magrpo times n \/ \(n - 1\)/,
    );
    assert.match(
      remarks('method=c3_no_replay', 'credit.group_normalise=true').join('\n'),
      /^With credit\.group_normalise c3_no_replay and magrpo give the same advantages/,
    );
    assert.match(remarks('fanout=[2, 3]').join('\n'), /^c3 makes 6 of 8 evaluator calls/);
    assert.deepEqual(remarks('method=sft', 'fanout=[2, 3]'), []);
  });

  it('reach the user of a run', async (t) => {
    const { progress } = await trained(t, ['method=c3_full_mean', 'credit.group_normalise=true', 'steps=1']);
    assert.ok(progress.some(({ message }) => message.includes('this ablation changes nothing')));
  });
});

describe('sampling', () => {
  it('counts the calls of a problem by method', () => {
    const calls = (overrides: readonly string[], protocol = PAIR): number =>
      countCallsPerProblem(readConfig('', 'x', overrides), protocol);
    assert.deepEqual(
      METHOD_NAMES.map((method) => calls([`method=${method}`])),
      METHOD_NAMES.map((method) => (method === 'sft' ? 0 : 8)),
    );
    const checkpoints: Protocol = {
      ...PAIR,
      occurrences: PAIR.occurrences.map((occurrence) => ({ ...occurrence, scored: true })),
    };
    // Two calls an episode: of 9 the budget pays for four.
    assert.equal(calls(['method=magrpo', 'evaluator_budget=9'], checkpoints), 8);
  });

  it('refuses a budget that pays for one episode only, before anything is stored', async (t) => {
    for (const method of ['magrpo', 'c3_no_replay']) {
      const world = await tinyWorld(t, team.folder);
      await assert.rejects(
        world.start({ overrides: [`method=${method}`, 'evaluator_budget=1'] }),
        /evaluator_budget \(1\) pays for fewer than two episodes .* nothing to compare/,
      );
      assert.equal(world.store.countRuns(), 0);
    }
  });
});
