/** The credits that a step learned with, against advantages that can be written down: a team in a table. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { mean } from '../../../../src/credit/describe.ts';
import { pearson, type Pair } from '../../../../src/diagnostics/statistics/rank.ts';
import { formatTrainingCredit } from '../../../../src/engine/commandLine/measures.ts';
import { diagnose } from '../../../../src/engine/diagnose/diagnose.ts';
import type { SampleDependencies } from '../../../../src/engine/diagnose/diagnoseSample.ts';
import {
  listContextSamples,
  readTrainingCredit,
  sampleTrainingCredit,
  type RoleTrainingCredit,
  type TrainingCreditSettings,
} from '../../../../src/engine/diagnose/trainingCredit.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import { renderPlain } from '../../../../src/team/render.ts';
import { getRunSampling, type RunConfig } from '../../../../src/training/config/config.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { sampleIteration } from '../../../../src/training/iteration.ts';
import { listLearnedMessages, type LearnedMessage } from '../../../../src/training/learnedMessages.ts';
import { getMethod } from '../../../../src/training/methods/methods.ts';
import { held } from '../../../support/held.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import {
  parseActions,
  makeChainProtocol,
  expectedReturn,
  softmax,
  tableEvaluator,
  TabularPolicy,
  type TabularTeam,
} from '../../../support/tabularTeam.ts';
import { LEDGER, METRICS } from '../../extension/storeFixture.ts';
import { errorOfKind, problems, ROUND, RUN, SNAPSHOT, storeFor } from '../../replay/helpers.ts';

const SCORES = [
  [1, 0.5],
  [0.25, 0],
  [0, 0.75],
];
const TEAM: TabularTeam = {
  protocol: makeChainProtocol(2),
  logits: [
    [[0.2, 0.5, -0.1]],
    [
      [0.3, -0.4],
      [0, 0.2],
      [-0.5, 0.4],
    ],
  ],
  score: ([first = 0, second = 0]) => SCORES[first]?.[second] ?? NaN,
};

/** Q(h, a) - V(h) of the last of some actions. */
function advantage(actions: readonly number[]): number {
  const [first = 0, second] = actions;
  const answers = softmax(TEAM.logits[1]?.[first] ?? []);
  const worth = answers.reduce((sum, chance, answer) => sum + chance * TEAM.score([first, answer]), 0);
  return second === undefined ? worth - expectedReturn(TEAM) : TEAM.score([first, second]) - worth;
}

const SETTINGS: TrainingCreditSettings = { contexts: 64, replays: 16, role: null, seed: 0 };

interface Scene {
  readonly store: StoreWriter;
  readonly config: RunConfig;
  readonly dependencies: SampleDependencies;
}

/** A finished step of a method in the table. */
async function scene(t: TestContext, count: number, overrides: readonly string[]): Promise<Scene> {
  const all = problems(count);
  const store = storeFor(t, all);
  const config = readConfig('', 'x', ['evaluator_budget=8', 'steps=1', ...overrides]);
  const { protocol } = TEAM;
  const [policy, evaluator] = [new TabularPolicy(TEAM.logits), tableEvaluator(TEAM)];
  store.insertStep({ run: RUN, iteration: 1, snapshot: SNAPSHOT, ledger: LEDGER });
  await sampleIteration({
    ...{ config, method: getMethod(config.method), problems: all, policy, protocol, render: renderPlain },
    ...{ evaluator, store, round: ROUND, stage: 0, signal: new AbortController().signal },
    valuesOf: () => Promise.resolve(new Map()),
    onBegin: () => undefined,
    onTree: () => undefined,
  });
  store.finishStep(RUN, 1, METRICS, LEDGER);
  const dependencies: SampleDependencies = {
    ...{ store, protocol, render: renderPlain, evaluator, sampling: getRunSampling(config), seed: config.seed },
    returnBound: 10,
    samples: () => true,
    source: () => Promise.resolve(held({ policy })),
  };
  return { store, config, dependencies };
}

const C3 = ['method=c3', 'fanout=[2, 4]'];

const measure = (
  { config, dependencies }: Scene,
  changes: Partial<TrainingCreditSettings> = {},
  signal = new AbortController().signal,
): Promise<void> => sampleTrainingCredit({ run: RUN, config }, { ...SETTINGS, ...changes }, dependencies, { signal });

const learnedIn = ({ store, config }: Scene) => ({ store, run: RUN, config, protocol: TEAM.protocol });

const read = (here: Scene, changes: Partial<TrainingCreditSettings> = {}): RoleTrainingCredit[] =>
  readTrainingCredit(learnedIn(here), { ...SETTINGS, ...changes });

/** What the run learned from, by role. */
const rowsOf = (here: Scene, role: string): LearnedMessage[] =>
  [...listLearnedMessages(learnedIn(here))].filter((one) => one.role === role);

/** The correlation of the credits of a role with the advantages in the table. */
const exactly = (here: Scene, role: string): number =>
  pearson(
    rowsOf(here, role).map((row): Pair => [
      row.advantage,
      advantage(parseActions(here.store.message(row.message).text)),
    ]),
  ) ?? NaN;

/** The ids of the replayed messages, in the order of their buckets. */
const replayed = ({ store }: Scene): (number | null)[] =>
  store.bucketsOfRun({ run: RUN, origin: 'request', offset: 0, limit: 5000 }).map(({ message }) => message);

describe('the replays of messages that were learned from', () => {
  it('estimate the advantages in the table, by pairs that no credit knows', async (t) => {
    const here = await scene(t, 3, C3);
    await measure(here, { replays: 16 });
    const views = here.store.bucketsOfRun({ run: RUN, origin: 'request', offset: 0, limit: 500 });
    assert.equal(views.length, 3 * (2 + 8));
    for (const position of [0, 1]) {
      const errors = views
        .filter(({ role }) => role === `r${position}`)
        .map(({ alternatives: [own, ...others] }) => {
          const worth = mean((own?.returns ?? []).map(Number));
          const value = mean(others.map(({ returns }) => Number(returns[0])));
          assert.deepEqual([own?.returns.length, others.length], [position === 0 ? 16 : 1, 16]);
          return worth - value - advantage(parseActions(own?.text ?? ''));
        });
      // Each is the mean of 16 pairs of returns from 0 to 1.
      assert.ok(Math.abs(mean(errors)) < 0.08, String(mean(errors)));
      assert.ok(Math.max(...errors.map(Math.abs)) < 4 * Math.sqrt(0.25 / 16));
    }
  });

  it('show what each method learned with, and no more noise than the credits have', async (t) => {
    for (const overrides of [C3, ['method=magrpo', 'evaluator_budget=4']]) {
      const here = await scene(t, 8, overrides);
      const asked = { contexts: 8, replays: 12, role: 'r0' };
      await measure(here, asked);
      const [first] = read(here, asked);
      // All messages of the role were drawn, so that the noise of the replays is all that differs.
      const exact = exactly(here, 'r0');
      assert.equal(first?.messages, rowsOf(here, 'r0').length);
      assert.ok((first.correlation?.value ?? NaN) < (first.disattenuated?.value ?? NaN));
      assert.ok(
        Math.abs((first.disattenuated?.value ?? NaN) - exact) < 0.1,
        `${overrides.join()}: ${String(first.disattenuated?.value)} is not near ${exact}`,
      );
    }
  });

  it('are of credits that tell the methods apart but for a factor', async (t) => {
    const scenes = new Map<string, Scene>();
    for (const method of ['c3', 'magrpo', 'c3_no_replay']) {
      scenes.set(method, await scene(t, 24, [...C3, `method=${method}`]));
    }
    const of = (method: string, role: string): number => exactly(scenes.get(method) ?? assert.fail(), role);
    assert.ok(of('c3', 'r1') > of('magrpo', 'r1') + 0.1, 'siblings of one plan compare answers better');
    assert.ok(Math.abs(of('magrpo', 'r0') - of('c3_no_replay', 'r0')) < 1e-9, 'a factor correlates alike');
  });

  it('go on where they were cancelled, and are read as if they had not been', async (t) => {
    const [here, whole] = [await scene(t, 4, C3), await scene(t, 4, C3)];
    const asked = { contexts: 3, replays: 2 };
    await measure(whole, asked);
    const signal = makeSignalAbortedWhen(() => replayed(here).length === 5);
    await assert.rejects(measure(here, asked, signal), CancelledError);
    const before = replayed(here).length;
    assert.ok(before >= 5 && before < replayed(whole).length);
    await measure(here, asked);
    assert.deepEqual(new Set(replayed(here)), new Set(replayed(whole)));
    const messages = (scene: Scene) =>
      read(scene, asked).map(({ messages: n, pairs, contexts }) => [n, pairs, contexts]);
    assert.deepEqual(messages(here), messages(whole));
    const rows = replayed(here).length;
    await measure(here, asked);
    assert.deepEqual([replayed(here).length, here.store.diagnosticSamples(RUN).length], [rows, 1]);
    // Other settings are another sample, and none is one of contexts.
    await measure(here, { ...asked, seed: 1 });
    assert.deepEqual([here.store.diagnosticSamples(RUN).length, listContextSamples(here.store, RUN)], [2, []]);
    const plain = diagnose(here.store, RUN, { origin: null, estimator: 'loo', protocol: TEAM.protocol });
    assert.deepEqual([plain.origin, plain.sample], ['training', null]);
  });

  it('are drawn by context and role, the same for the same seed', async (t) => {
    const here = await scene(t, 6, C3);
    const asked = { contexts: 2, replays: 1, role: 'r1' };
    await measure(here, asked);
    const own = here.store.messages(replayed(here).map(Number));
    // Two plans, each with its four answers.
    assert.deepEqual([own.length, new Set(own.map(({ parent }) => parent)).size], [8, 2]);
    assert.deepEqual(
      read(here, asked).map(({ role, contexts, messages, disattenuated }) => [role, contexts, messages, disattenuated]),
      [['r1', 2, 8, null]],
    );
    const words = formatTrainingCredit('c3', { ...SETTINGS, ...asked }, read(here, asked)).join('\n');
    assert.match(words, /without noise +not measured: it needs two pairs of a message/u);
    assert.match(words, /measured on +2 contexts, 8 messages, 8 pairs, \d+ evaluator calls$/u);
    const drawn = replayed(here);
    await measure(here, { ...asked, replays: 2 });
    assert.deepEqual(replayed(here).slice(8), drawn);
  });

  it('say why there is no correlation, and refuse what cannot be measured', async (t) => {
    const here = await scene(t, 2, C3);
    await assert.rejects(
      measure(here, { contexts: 0 }),
      errorOfKind('input', /--contexts must be .* from 1 to 10000/u),
    );
    await assert.rejects(measure(here, { replays: 257 }), errorOfKind('input', /--replays must be .* from 1 to 256/u));
    await assert.rejects(measure(here, { role: 'x' }), errorOfKind('input', /no role "x"; it has r0, r1/u));
    assert.deepEqual(read(here), [], 'nothing was replayed yet');
    const frozen = readConfig('', 'x', [...C3, 'policies={r0: {answers: [{answer: x}]}}']);
    await assert.rejects(
      measure({ ...here, config: frozen }, { role: 'r0' }),
      errorOfKind('input', /learned from no message of the role "r0"; train it first/u),
    );
    // One problem whose two episodes returned the same.
    const flat = await scene(t, 1, ['method=magrpo', 'evaluator_budget=2', 'seed=2']);
    const asked = { contexts: 1, replays: 1, role: 'r0' };
    await measure(flat, asked);
    assert.equal(read(flat, asked)[0]?.correlation, null);
    const words = formatTrainingCredit('magrpo', { ...SETTINGS, ...asked }, read(flat, asked)).join('\n');
    assert.match(words, /r0: credit that magrpo learned with/u);
    assert.match(words, /correlation +not measured: All credits are equal, so that nothing correlates with them\.\n/u);
  });
});
