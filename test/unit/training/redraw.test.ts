/** `fanout_unique`: whole runs that draw other messages in the place of equal ones. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answerEvaluator } from '../../../src/evaluate/evaluator.ts';
import { LocalPolicy, type PolicyAnswer } from '../../../src/policy/policy.ts';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import { countRedraws } from '../../../src/replay/episodes.ts';
import { makeMessageKey, type TreeMessage } from '../../../src/replay/tree.ts';
import { verifyReplays } from '../../../src/replay/verify.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { findSamplingFault } from '../../../src/training/iteration.ts';
import { held } from '../../support/held.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { CHECKPOINTS, PAIR as TWO } from '../replay/helpers.ts';
import { teamFolder, tinyWorld } from './tinyRun.ts';
import { PAIR } from './tinyTeam.ts';

describe('redrawsOf', () => {
  const answer = (text: string, ...tokens: number[]): PolicyAnswer => ({
    text,
    prompt: new Int32Array(1),
    tokens: Int32Array.from(tokens),
    logprobs: new Float32Array(tokens.length),
    finish: 'end',
    reusedTokens: 0,
  });
  const messages = (...said: string[]): Pick<TreeMessage, 'answer' | 'score'>[] =>
    said.map((text, index) => ({
      answer: answer(text),
      score: { score: 1, rule: '', reused: said.indexOf(text) < index },
    }));

  it('is what is missing of distinct messages, within the calls that were saved and twice the draws', () => {
    assert.equal(countRedraws({ planned: 4, nodes: messages('a', 'b', 'a', 'a') }), 2);
    assert.equal(countRedraws({ planned: 4, nodes: messages('a', 'b', 'a', 'a', 'c', 'a') }), 1);
    assert.equal(countRedraws({ planned: 4, nodes: messages('a', 'b', 'c', 'd') }), 0);
    assert.equal(countRedraws({ planned: 3, nodes: messages('a', 'a', 'a', 'a', 'a') }), 1);
    assert.equal(countRedraws({ planned: 3, nodes: messages('a', 'a', 'a', 'a', 'a', 'a') }), 0);
    // Two messages have nothing to learn from a third that may only be the last.
    assert.equal(countRedraws({ planned: 2, nodes: messages('a', 'a') }), 0);
  });

  it('knows messages by their tokens', () => {
    const said = (text: string, ...tokens: number[]): string => makeMessageKey({ answer: answer(text, ...tokens) });
    assert.notEqual(said('ab', 1, 2), said('ab', 12));
    assert.equal(said('x', 3), said('y', 3));
  });
});

describe('a configuration with fanout_unique', () => {
  const fault = (...overrides: string[]): string | null =>
    findSamplingFault(readConfig('', 'x', ['fanout_unique=true', ...overrides]), TWO);

  it('says what it does not go with', () => {
    assert.equal(fault(), null);
    assert.match(fault('shape=spine') ?? '', /shape nested/u);
    assert.match(fault('fanout=[8,1]') ?? '', /last fan-out of 2/u);
    for (const other of [
      'credit.merge_contexts=false',
      'credit.common_random_numbers=true',
      'credit.group_normalise=true',
    ]) {
      assert.match(fault(other) ?? '', /fanout_unique needs credit\.estimator loo/u);
    }
    const scoredTwice = readConfig('', 'x', ['fanout_unique=true', 'fanout=[2,2]', 'evaluator_budget=8']);
    assert.match(findSamplingFault(scoredTwice, CHECKPOINTS) ?? '', /the last alone is scored/u);
  });
});

describe('a run with fanout_unique', () => {
  let team: Awaited<ReturnType<typeof teamFolder>>;
  before(async () => {
    team = await teamFolder();
  });
  after(() => team.remove());

  it('draws again within its calls, verifies, and comes to the same weights over an interruption', async (t) => {
    const options = {
      protocol: PAIR,
      // Messages of one token repeat themselves often.
      overrides: ['fanout_unique=true', 'steps=3', 'evaluation.instances=0', 'sampling.max_new_tokens=1'],
      evaluation: [],
    };
    const whole = await tinyWorld(t, team.folder);
    const summary = await whole.start(options);
    const { store, host } = whole;
    const weights = store.snapshotsOfRun('run-1').map(({ id }) => id);
    assert.equal(new Set(weights).size, 4, 'every step learns');
    const buckets = store.bucketsOfRun({ run: 'run-1', offset: 0, limit: 1000 });
    const planners = buckets.filter(({ role }) => role === 'reasoner');
    const answers = buckets.filter(({ role }) => role === 'actor');
    const drawn = answers.reduce((sum, { alternatives }) => sum + alternatives.length, 0);
    assert.ok(drawn > 3 * 3 * 8, `${drawn} answers`);
    assert.ok(summary.evaluatorCalls <= 3 * 3 * 8, String(summary.evaluatorCalls));
    assert.equal(summary.evaluatorCalls + (summary.reusedEvaluations ?? 0), drawn);
    // A message before them is replayed as often as planned.
    const replays = store.replaysOfRun('run-1', 0, 10_000);
    const ofPlanners = replays.filter(({ bucket }) => planners.some(({ id }) => id === bucket));
    assert.equal(ofPlanners.length, 3 * 3 * 8);
    const tokenizer = await loadTokenizer(team.folder);
    const report = await verifyReplays(
      store,
      replays,
      async (snapshot) => {
        if (!(await host.snapshots()).includes(snapshot)) {
          await host.loadSnapshot(store.snapshots(snapshot)[0]?.file ?? '');
        }
        return held({ policy: new LocalPolicy(host, tokenizer, snapshot) });
      },
      { protocol: PAIR, evaluator: answerEvaluator, returnBound: 10 },
      { signal: new AbortController().signal },
    );
    assert.deepEqual([report.identical, report.checked], [replays.length, replays.length]);

    const cut = await tinyWorld(t, team.folder);
    const signal = makeSignalAbortedWhen(() => cut.store.countSteps('run-1') === 2);
    await assert.rejects(cut.start({ ...options, control: { signal } }), CancelledError);
    await cut.resume(options);
    assert.deepEqual(
      cut.store.snapshotsOfRun('run-1').map(({ id }) => id),
      weights,
    );
  });
});
