/** Runs of a team in which something else than the model answers for a role. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { checkScripts, findPoliciesFault } from '../../../src/training/policies.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { errorOfKind } from '../replay/helpers.ts';
import { teamFolder, tinyWorld, TINY_CONFIG } from './tinyRun.ts';
import { PAIR, sums } from './tinyTeam.ts';
import { watchingSteps } from './watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const SCRIPTED = 'policies={reasoner: {kind: scripted, answers: [{answer: "Add the pens."}]}}';

/** Notes the roles of all contexts that are trained on. */
const noting = (trained: Set<string>) =>
  watchingSteps((contexts) => contexts.forEach(({ role = '' }) => trained.add(role)));

describe('a run with a scripted role', () => {
  for (const overrides of [
    ['method=c3'],
    ['method=mappo'],
    ['method=magrpo', 'adapter={rank: 2, alpha: 2, per: role}'],
  ]) {
    it(`says what the table says and learns from the other roles only (${overrides.join(' ')})`, async (t) => {
      const { store, start } = await tinyWorld(t, team.folder);
      const trained = new Set<string>();
      await start({ overrides: [SCRIPTED, ...overrides], wrap: noting(trained) });
      assert.deepEqual([...trained], ['actor']);
      const leaves = store.episodes({ run: 'run-1', phase: 'train', iteration: 1, offset: 0, limit: 100 });
      assert.ok(leaves.length > 0);
      for (const { leaf } of leaves) {
        const [first, second] = store.chain(leaf);
        const own = store.fullMessage(first?.id ?? 0);
        assert.equal(own.text, 'Add the pens.');
        assert.deepEqual([own.promptTokens, own.logprobs.length, own.finish], [0, 0, 'end']);
        assert.equal(own.reusedTokens, own.tokens.length);
        assert.match(store.fullMessage(second?.id ?? 0).context, /Add the pens\./);
      }
    });
  }

  it('counts no tokens of a model for it', async (t) => {
    const { start } = await tinyWorld(t, team.folder);
    const both =
      'policies={reasoner: {kind: scripted, answers: [{answer: a}]}, actor: {kind: scripted, answers: [{answer: "#### 3"}]}}';
    const { tokens, accuracy } = await start({ overrides: [both, 'steps=0'] });
    assert.deepEqual([tokens.prompt, tokens.reused, tokens.completion], [0, 0, 0]);
    assert.equal(accuracy.before?.value, 0.5);
  });

  it('continues after an interruption as if there had been none', async (t) => {
    const [whole, cut] = [await tinyWorld(t, team.folder), await tinyWorld(t, team.folder)];
    await whole.start({ overrides: [SCRIPTED] });
    let steps = 0;
    await assert.rejects(
      cut.start({
        overrides: [SCRIPTED],
        control: {
          signal: makeSignalAbortedWhen(() => steps > 0),
          onProgress: ({ metrics }) => {
            steps += metrics === null ? 0 : 1;
          },
        },
      }),
    );
    await cut.resume({ overrides: [SCRIPTED] });
    const snapshots = (of: typeof whole): string[] => of.store.snapshotsOfRun('run-1').map(({ id }) => id);
    assert.deepEqual(snapshots(cut), snapshots(whole));
  });
});

describe('a run with a role that does not learn', () => {
  for (const adapter of ['adapter=null', 'adapter={rank: 2, alpha: 2, per: role}']) {
    it(`credits what it says by the model in training, and learns from the others only (${adapter})`, async (t) => {
      const [plain, silent] = [await tinyWorld(t, team.folder), await tinyWorld(t, team.folder)];
      const [all, some] = [new Set<string>(), new Set<string>()];
      const overrides = ['evaluation.instances=0', adapter];
      await plain.start({ overrides, evaluation: [], wrap: noting(all) });
      await silent.start({
        overrides: [...overrides, 'policies={reasoner: {learns: false}}'],
        evaluation: [],
        wrap: noting(some),
      });
      assert.deepEqual([[...all].sort(), [...some]], [['actor', 'reasoner'], ['actor']]);
      const spoken = ({ store }: typeof plain, iteration: number): readonly (readonly unknown[])[] =>
        store
          .trainingMessages('run-1', iteration, 'loo', 0)
          .filter(({ role }) => role === 'reasoner')
          .map(({ tokens, credit }) => [tokens.join(), credit]);
      // The first step samples with the weights that both began with.
      assert.deepEqual(spoken(silent, 1), spoken(plain, 1));
      assert.ok(spoken(silent, 2).every(([, credit]) => typeof credit === 'number'));
    });
  }

  it('needs another one that does', () => {
    const config = readConfig(TINY_CONFIG, 'x', ['policies={actor: {learns: false}, reasoner: {learns: false}}']);
    assert.match(findPoliciesFault(config, PAIR)?.sentence ?? '', /nothing can be trained/);
  });
});

describe('policiesProblem', () => {
  const of = (policies: string, steps = 2): string | undefined =>
    findPoliciesFault(readConfig(TINY_CONFIG, 'x', [`policies=${policies}`, `steps=${steps}`]), PAIR)?.sentence;

  it('refuses a role that the protocol does not have, and a team without a learner', () => {
    const one = '{kind: scripted, answers: [{answer: a}]}';
    assert.equal(of(`{actor: ${one}}`), undefined);
    assert.match(of(`{actr: ${one}}`) ?? '', /^the protocol pair has no such role; did you mean 'actor'\?$/);
    assert.match(of(`{actor: ${one}, reasoner: ${one}}`) ?? '', /nothing can be trained/);
    assert.equal(of(`{actor: ${one}, reasoner: ${one}}`, 0), undefined);
  });
});

describe('checkScripts', () => {
  const check = (answers: string): void => {
    const config = readConfig('', 'x', [`policies={actor: {kind: scripted, answers: ${answers}}}`]);
    checkScripts(config, PAIR, sums(2));
  };

  it('finds the first question without an answer', () => {
    const [first] = sums(1);
    assert.throws(
      () => check(JSON.stringify([{ question: first?.question, answer: '3' }])),
      errorOfKind('input', /^policies\.actor\.answers has no answer for the actor for the problem "sum-1"; add one/),
    );
    check('[{turn: 1, answer: "3"}]');
    // What a context key answers is known only in its context.
    check('[{context_key: "12", answer: "3"}]');
    assert.throws(() => check('[{turn: 2, answer: "3"}]'), errorOfKind('input', /"sum-0"/));
  });
});
