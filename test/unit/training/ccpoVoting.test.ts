/** CCPO on a team that votes: what its voters learn from, what is carried over steps, and what a run stores. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answerEvaluator } from '../../../src/evaluate/evaluator.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { ccpo } from '../../../src/training/methods/ccpo.ts';
import { NO_STATISTICS, toStatisticsState } from '../../../src/training/methods/ccpoStatistics.ts';
import {
  isVotingState,
  updateVotingStatistics,
  measureVoting,
  shapeVotingSignals,
  toVotingState,
  readVotingStatistics,
  type Voted,
} from '../../../src/training/methods/ccpoVoting.ts';
import { teamFolder, tinyWorld } from './tinyRun.ts';
import { PAIR, sums } from './tinyTeam.ts';

const SETTINGS = readConfig('', 'defaults').ccpo;
const FIRST = readVotingStatistics(toStatisticsState(NO_STATISTICS));
const voters = ['a', 'b', 'c'];
const voted = (joint: number, ...contributions: readonly number[]): Voted => ({ voters, joint, contributions });
const close = (rows: readonly (readonly number[])[], expected: readonly (readonly number[])[], within = 1e-6): void => {
  assert.deepEqual(
    rows.map(({ length }) => length),
    expected.map(({ length }) => length),
  );
  rows.forEach((row, index) => {
    row.forEach((value, voter) => {
      const wanted = expected[index]?.[voter] ?? NaN;
      assert.ok(Math.abs(value - wanted) < within, `${JSON.stringify(rows)} is not ${JSON.stringify(expected)}`);
    });
  });
};
const NOTHING = [0, 0, 0];

describe('what voters learn from', () => {
  // The group {AAB, ABB, AAA, ABC} of the reference, section 3, with its table of contributions.
  it('is the return of the vote, shared among who was needed for it, by allocation', () => {
    const settings = { ...SETTINGS, voting: 'allocation' } as const;
    const abstain = [voted(1, 1, 1, 0), voted(0, 0, 0, 0), voted(1, 0, 0, 0), voted(0, 0, 0, 0)];
    close(shapeVotingSignals(abstain, FIRST, settings), [[0.433012, 0.433012, 0], NOTHING, NOTHING, NOTHING], 1.5e-6);
    const first = [voted(1, 0, 0, 0), voted(0, 0, -1, -1), voted(1, 0, 0, 0), voted(1, 1, 0, 0)];
    close(shapeVotingSignals(first, FIRST, settings), [NOTHING, NOTHING, NOTHING, [0.499999, 0, 0]], 1.5e-6);
    const expected = [
      voted(1, 0.5, 0.5, 0),
      voted(0, 0, -0.5, -0.5),
      voted(1, 0, 0, 0),
      voted(1 / 3, 1 / 3, -1 / 6, -1 / 6),
    ];
    close(
      shapeVotingSignals(expected, FIRST, settings),
      [[0.416665, 0.416665, 0], NOTHING, NOTHING, [-0.499998, 0, 0]],
      1.5e-6,
    );
  });

  it("is each voter's own contribution, shaped by its own statistics, directly", () => {
    const rollouts = [voted(1, 1, 0, 0), voted(0, 0, -1, 0)];
    const settings = { ...SETTINGS, normalise: 'none', min_samples: 2 } as const;
    close(shapeVotingSignals(rollouts, FIRST, settings), [
      [1, 0, 0],
      [0, -1, 0],
    ]);
    const next = updateVotingStatistics(FIRST, rollouts, 0.99);
    // By hand: a has mean 1/2 and deviation 1/2, b the same below 0, and c never varied, so that its deviation is 1.
    const one = Math.tanh(1);
    close(
      shapeVotingSignals(rollouts, next, settings),
      [
        [one, one, 0],
        [-one, -one, 0],
      ],
      1e-5,
    );
    close(shapeVotingSignals(rollouts, next, { ...settings, min_samples: 3 }), [
      [1, 0, 0],
      [0, -1, 0],
    ]);
    close(shapeVotingSignals(rollouts, next, { ...settings, shaping: 'none' }), [
      [1, 0, 0],
      [0, -1, 0],
    ]);
    const scaled = Math.SQRT1_2;
    close(
      shapeVotingSignals(rollouts, next, SETTINGS),
      [
        [scaled, scaled, 0],
        [-scaled, -scaled, 0],
      ],
      1e-5,
    );
  });

  it('is 0 where no voter states an answer, and nothing where nothing is known', () => {
    const silent = [voted(0, 0, 0, 0), voted(0, 0, 0, 0)];
    const history = updateVotingStatistics(FIRST, [voted(1, 1, 0, 0), voted(0, 0, -1, 0)], 0.5);
    for (const voting of ['direct', 'allocation'] as const) {
      const settings = { ...SETTINGS, voting, min_samples: 0 };
      assert.deepEqual(shapeVotingSignals(silent, history, settings), [NOTHING, NOTHING]);
      assert.deepEqual(shapeVotingSignals([], history, settings), []);
    }
  });
});

describe('the statistics of voters', () => {
  it('move as those of a thinker, each on its own, and are the same when they are read back', () => {
    const one = updateVotingStatistics(FIRST, [voted(1, 1, 0, 0.1), voted(0, 0, -1, 0.2)], 0.9);
    const two = updateVotingStatistics(one, [voted(1, 1, 0, 0.3), voted(1, 1, 0, 1 / 3)], 0.9);
    // .9 * 1/2 + .1 * 1, and .9 * 1/4 + .1 * 0; the return .9 * 1/2 + .1 * 1.
    assert.deepEqual([two.steps, two.count], [2, 4]);
    const own = two.voters.get('a') ?? assert.fail();
    close([[own.mean, own.variance, two.joint.mean]], [[0.55, 0.225, 0.55]], 1e-12);
    const state = toVotingState(two);
    assert.deepEqual(readVotingStatistics(state), two);
    // b: .9 * -1/2 + .1 * 0; c: .9 * .15 + .1 * .316667.
    const mean = (0.55 - 0.45 + 0.135 + (0.1 * (0.3 + 1 / 3)) / 2) / 3;
    close([[measureVoting(state).contribution ?? NaN]], [[mean]], 1e-12);
  });

  it('stay as they are where no vote is known, and show nothing before the first', () => {
    assert.equal(updateVotingStatistics(FIRST, [], 0.9), FIRST);
    const state = toVotingState(FIRST);
    assert.equal(isVotingState(state), true);
    assert.deepEqual([measureVoting(state), ccpo.measures?.(state, readConfig('', 'defaults'))], [{}, {}]);
    assert.equal(isVotingState(toStatisticsState(NO_STATISTICS)), false);
  });
});

const team = (count: number, ties = 'expected', prompt = 'Solve.'): Protocol =>
  parseProtocol(
    JSON.stringify({
      name: 'voters',
      roles: Array.from({ length: count }, (_, index) => ({ role: `voter${index + 1}`, prompt, max_new_tokens: 6 })),
      rounds: { turns: 1, closing: { name: 'vote', ties } },
    }),
    'voters.json',
  );

describe('where a voting team cannot be credited', () => {
  const fault = (protocol: Protocol, ...overrides: readonly string[]): string | null =>
    ccpo.fault(readConfig('', 'defaults', ['method=ccpo', ...overrides]), protocol);
  const remarks = (protocol: Protocol, ...overrides: readonly string[]): readonly string[] =>
    ccpo.remarks(readConfig('', 'defaults', ['method=ccpo', ...overrides]), protocol);

  it('says why in one sentence', () => {
    assert.equal(fault(team(3)), null);
    assert.equal(fault(team(3), 'evaluator_budget=2'), null);
    assert.match(fault(team(1)) ?? '', /^ccpo compares a vote .* needs at least two voters; voters has one\.$/u);
    assert.match(
      fault(team(3), 'evaluator_budget=1') ?? '',
      /^evaluator_budget \(1\) pays for fewer than two episodes/u,
    );
    assert.match(fault(team(3), 'ccpo.shaping=event') ?? '', /^ccpo\.shaping: event .*, and voters votes; set it to/u);
    assert.equal(fault(team(12), 'ccpo.contribution=shapley'), null);
    assert.match(
      fault(team(13), 'ccpo.contribution=shapley') ?? '',
      /at most 12 voters, and voters has 13; set it to/u,
    );
    assert.match(
      fault(team(2), 'ccpo.alternate_every=1', 'policies={voter2: {learns: false}}') ?? '',
      /and voter2 does not; set it to 0\.$/u,
    );
  });

  it('warns of ties that say more than what voters contribute', () => {
    assert.deepEqual(remarks(team(3)), []);
    assert.deepEqual(remarks(team(3, 'abstain'), 'ccpo.voting=allocation'), []);
    assert.match(remarks(team(3), 'ccpo.voting=allocation').join(' '), /can lower what the only right voter says/u);
    assert.match(remarks(team(3, 'first')).join(' '), /credits equal voters by their places\.$/u);
    assert.deepEqual(remarks(PAIR, 'ccpo.voting=allocation'), []);
  });
});

let folder: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  folder = await teamFolder();
});
after(() => folder.remove());

/** The number that a message states as the tiny team writes it. */
const stated = (text: string): string | null => [...text.matchAll(/#### (\d+)/gu)].at(-1)?.[1] ?? null;

/** The share of right answers among those with the most votes: the expected reward, by its definition. */
function expectedReward(answers: readonly (string | null)[], right: string): number {
  const cast = answers.filter((answer) => answer !== null);
  const votes = new Map([...new Set(cast)].map((answer) => [answer, cast.filter((one) => one === answer).length]));
  const most = Math.max(0, ...votes.values());
  const top = [...votes].filter(([, count]) => count === most).map(([answer]) => answer);
  return top.length === 0 ? 0 : top.filter((answer) => answer === right).length / top.length;
}

it('a run credits every voter with what the vote loses without it, and samples nothing for that', async (t) => {
  const { store, start } = await tinyWorld(t, folder.folder);
  const protocol = team(3);
  await start({
    protocol,
    train: sums(3),
    evaluation: [],
    evaluator: answerEvaluator,
    overrides: ['method=ccpo', 'evaluation.instances=0', 'ccpo.shaping=none', 'ccpo.normalise=none'],
  });
  const credits: number[] = [];
  let scored = 0;
  for (const iteration of [1, 2]) {
    const said = new Set<string>();
    const episodes = store.episodes({ run: 'run-1', phase: 'train', iteration, offset: 0, limit: 100 });
    assert.equal(episodes.length, 3 * 8);
    for (const { leaf, answer, problem } of episodes) {
      const messages = store.chain(leaf);
      const answers = messages.map(({ text }) => stated(text));
      for (const one of answers.flatMap((stating) => stating ?? [])) {
        said.add(`${problem} ${one}`);
      }
      messages.forEach(({ trainingCredit }, voter) => {
        const without = answers.filter((_, other) => other !== voter);
        const expected = expectedReward(answers, answer) - expectedReward(without, answer);
        assert.ok(Math.abs((trainingCredit?.value ?? NaN) - expected) < 1e-12, answers.join());
        credits.push(expected);
      });
    }
    const { ledger, metrics } = store.steps('run-1', iteration - 1, 1)[0] ?? assert.fail();
    // Each answer of a question was scored by itself, once in a step.
    scored += said.size;
    assert.equal(ledger.voteCalls, scored);
    assert.equal(ledger.evaluatorCalls + (ledger.reusedEvaluations ?? 0), iteration * 3 * 8 + scored);
    const state = store.methodState('run-1', iteration) ?? assert.fail();
    assert.equal(metrics?.contribution, measureVoting(state).contribution);
    assert.deepEqual([...readVotingStatistics(state).voters.keys()], ['voter1', 'voter2', 'voter3']);
    assert.equal(readVotingStatistics(state).count, iteration * 24);
  }
  assert.ok(new Set(credits.map((one) => one.toFixed(3))).size > 2, 'votes differ');
});
