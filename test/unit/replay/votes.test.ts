/** Votes that are counted again without a voter: the table of reference section 3, and what a tree holds of them. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { removalContributions, shapleyValues } from '../../../src/credit/coalitions.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { scoreVotes } from '../../../src/replay/scoredVotes.ts';
import { findLeaves, computeReturn } from '../../../src/replay/tree.ts';
import { computeVoteReward, type Vote } from '../../../src/replay/votes.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { countFanoutCalls } from '../../../src/team/rounds.ts';
import { isVotingTeam } from '../../../src/team/votingTeam.ts';
import { CountingEvaluator, digest, problems, NEVER, PAIR, ScriptedPolicy, starts, world } from './helpers.ts';

/** A is right; - states no answer. */
const voteFor = (letters: string, ties: string, uniform = 0): Pick<Vote, 'ballots' | 'ties' | 'uniform'> => ({
  ballots: letters.split('').map((name) => (name === '-' ? null : { name, score: name === 'A' ? 1 : 0 })),
  ties,
  uniform: () => uniform,
});
const all = (letters: string): boolean[] => Array.from({ length: letters.length }, () => true);
/** The reward of a vote, and what each voter contributes to it. */
const found = (letters: string, ties: string, uniform?: number): number[] => {
  const vote = voteFor(letters, ties, uniform);
  const rewardOf = (members: readonly boolean[]): number => computeVoteReward(vote, members);
  return [rewardOf(all(letters)), ...removalContributions(letters.length, rewardOf)];
};
const close = (values: readonly number[], expected: readonly number[], what: string): void => {
  assert.equal(values.length, expected.length, what);
  values.forEach((value, index) =>
    assert.ok(Math.abs(value - (expected[index] ?? NaN)) < 1e-12, `${what}: ${values.join()}, not ${expected.join()}`),
  );
};

const [half, third, sixth] = [1 / 2, 1 / 3, 1 / 6];
/** By votes: the reward and three contributions with ties first, abstain and expected (reference section 3). */
const TABLE = {
  AAA: [
    [1, 0, 0, 0],
    [1, 0, 0, 0],
    [1, 0, 0, 0],
  ],
  AAB: [
    [1, 0, 0, 0],
    [1, 1, 1, 0],
    [1, half, half, 0],
  ],
  ABA: [
    [1, 1, 0, 0],
    [1, 1, 0, 1],
    [1, half, 0, half],
  ],
  BAA: [
    [1, 0, 1, 1],
    [1, 0, 1, 1],
    [1, 0, half, half],
  ],
  ABB: [
    [0, 0, -1, -1],
    [0, 0, 0, 0],
    [0, 0, -half, -half],
  ],
  BAB: [
    [0, -1, 0, 0],
    [0, 0, 0, 0],
    [0, -half, 0, -half],
  ],
  BBA: [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, -half, -half, 0],
  ],
  ABC: [
    [1, 1, 0, 0],
    [0, 0, 0, 0],
    [third, third, -sixth, -sixth],
  ],
  BAC: [
    [0, -1, 0, 0],
    [0, 0, 0, 0],
    [third, -sixth, third, -sixth],
  ],
  BCA: [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [third, -sixth, -sixth, third],
  ],
  BBC: [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ],
  BBB: [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ],
} as const;

describe('a vote without one of its voters', () => {
  it('changes the reward as the table of the reference says, under each rule of ties', () => {
    for (const [letters, expected] of Object.entries(TABLE)) {
      for (const [index, ties] of ['first', 'abstain', 'expected'].entries()) {
        close(found(letters, ties), expected[index] ?? [], `${letters} with ties ${ties}`);
      }
    }
  });

  it('draws the number that the whole vote drew, where ties are seeded', () => {
    // Without the third voter A and B are tied; the number takes the first or the second of them.
    close(found('ABA', 'seeded', 0.2), [1, 1, 0, 0], 'the first');
    close(found('ABA', 'seeded', 0.9), [1, 0, 0, 1], 'the second');
  });

  it('has a result for those who state no answer', () => {
    close(found('A-B', 'expected'), [half, half, 0, -half], 'one');
    for (const ties of ['first', 'abstain', 'expected', 'seeded']) {
      close(found('---', ties), [0, 0, 0, 0], `all, with ties ${ties}`);
      close(found('A', ties), [1, 1], `one voter, with ties ${ties}`);
    }
  });

  it("gives Shapley values that add up to the vote's reward", () => {
    const vote = voteFor('AAB', 'expected');
    // By hand: 1/3 (1 - 0) + 1/6 (1 - 1) + 1/6 (1/2 - 0) + 1/3 (1 - 1/2) = 7/12 for A; twice 1/6 (1/2 - 1) for B.
    close(
      shapleyValues(3, (members) => computeVoteReward(vote, members)),
      [7 / 12, 7 / 12, -1 / 6],
      'AAB',
    );
  });
});

const protocolOf = (
  rounds: object,
  roles: readonly object[] = ['a', 'b', 'c'].map((role) => ({ role, prompt: 'Vote.' })),
): Protocol => parseProtocol(JSON.stringify({ name: 'voters', roles, rounds }), 'voters.json');
const CLOSING = { name: 'vote', ties: 'expected' };
const VOTERS = protocolOf({ turns: 1, closing: CLOSING });

it('a team votes where nobody sees another, and the vote of all ends its only round', () => {
  assert.equal(isVotingTeam(VOTERS), true);
  const planned = [
    { role: 'a', prompt: 'Plan.' },
    { role: 'b', prompt: 'Vote.', depends_on: ['a'] },
  ];
  for (const other of [
    PAIR,
    protocolOf({ turns: 2, closing: CLOSING }),
    protocolOf({ turns: 1, order: 'fixed', closing: CLOSING }),
    protocolOf({ turns: 1, closing: 'last' }),
    protocolOf({ turns: 1, closing: { ...CLOSING, of: 'b' } }),
    protocolOf({ turns: 1, closing: CLOSING }, planned),
  ]) {
    assert.equal(isVotingTeam(other), false);
  }
});

describe('the votes of a tree', () => {
  const asked = problems(4);
  /** One of three answers in one of two forms, or none. */
  const policy = (): ScriptedPolicy =>
    new ScriptedPolicy(
      ({ streamKey }) => ['#### 1', '#### 2/2', '#### 2', '#### 3', 'unsure'][digest(streamKey) % 5] ?? '',
    );

  it('give the return of each episode where all voters take part, and ask for each answer once', async () => {
    for (const ties of ['first', 'expected', 'abstain', 'seeded']) {
      const protocol = protocolOf({ turns: 1, closing: { ...CLOSING, ties } });
      const made = world(protocol, {
        policy: policy(),
        evaluator: new CountingEvaluator((text) => (text === '#### 1' || text === '#### 2/2' ? 1 : 0)),
      });
      const roots = await growEpisodes(made.settings, starts(asked), [6], NEVER);
      assert.equal(made.settings.budget.calls, 4 * countFanoutCalls(protocol, [6]), 'one for each vote, as planned');
      const counted = new CountingEvaluator((text) => (text === '#### 1' || text === '#### 2/2' ? 1 : 0));
      const { votes, calls } = await scoreVotes(roots, { protocol, evaluator: counted }, NEVER.signal);
      assert.equal(votes.size, 24);
      for (const leaf of roots.flatMap(findLeaves)) {
        const vote = votes.get(leaf) ?? assert.fail();
        assert.deepEqual(vote.voters, ['a', 'b', 'c']);
        assert.equal(computeVoteReward(vote, [true, true, true]), computeReturn(leaf), ties);
      }
      assert.ok(counted.calls <= 4 * 4, String(counted.calls));
      assert.equal(calls, counted.calls, 'what is booked');
    }
  });

  it('leave out an episode with an answer that cannot be scored, and stop where they are cancelled', async () => {
    const made = world(VOTERS, { policy: policy() });
    const roots = await growEpisodes(made.settings, starts(asked), [6], NEVER);
    const evaluator = new CountingEvaluator((text) => (text === '#### 3' ? null : 1));
    const { votes } = await scoreVotes(roots, { protocol: VOTERS, evaluator }, NEVER.signal);
    const unscored = roots.filter((root) => {
      const [leaf = root] = findLeaves(root);
      const texts = [leaf, leaf.parent ?? leaf, root].map(({ answer }) => answer.text);
      assert.equal(votes.has(leaf), !texts.includes('#### 3'));
      return !votes.has(leaf);
    });
    assert.ok(unscored.length > 0 && votes.size > 0, 'both kinds are there');
    await assert.rejects(scoreVotes(roots, { protocol: VOTERS, evaluator }, AbortSignal.abort()), /cancel/iu);
  });
});
