import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { makeEvaluatorWithoutCode } from '../../../src/evaluate/named.ts';
import { recountVote } from '../../../src/replay/countedVote.ts';
import { streamKey } from '../../../src/runtime/random.ts';
import type { ShownVote } from '../../../src/shared/transcript/shownVote.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';

const INSTANCE: Problem = { uid: 'item', uidSha: 'ab', question: 'q', answer: 'A', source: 'test', level: null };
const KEY = streamKey({ seed: 0, scope: 'train', uidSha: 'ab', role: 'vote', turn: 0, sibling: 0 });

/** A team of voters, one for each letter; another letter than A to D is a message without an answer. */
async function counted(
  letters: string,
  ties: ShownVote['ties'] = 'expected',
  evaluator = makeEvaluatorWithoutCode('answer', 'stated'),
  problem = INSTANCE,
): Promise<ShownVote> {
  const roles = Array.from(letters, (_, index) => ({ role: `voter${index + 1}`, prompt: 'Vote.' }));
  const text = JSON.stringify({ name: 'voters', roles, rounds: { turns: 1, closing: { name: 'vote', ties } } });
  const vote = await recountVote(
    {
      problem,
      protocol: parseProtocol(text, 'voters.json'),
      messages: Array.from(letters, (letter, index) => ({
        id: 10 + index,
        role: `voter${index + 1}`,
        position: index,
        text: 'ABCDa'.includes(letter) ? `so\n#### ${letter}` : 'none',
      })),
      event: { streamKey: KEY },
    },
    evaluator,
  );
  assert.ok(vote !== null);
  return vote;
}

const contributionsOf = ({ voters }: ShownVote): (number | null)[] => voters.map(({ contribution }) => contribution);
const pivotalOf = ({ voters }: ShownVote): string =>
  voters.map(({ pivotal }, index) => (pivotal ? String(index + 1) : '')).join('');

describe('a vote counted again', () => {
  it('gives the contributions of the CCPO reference, section 3, under every rule without a draw', async () => {
    const third = 1 / 3;
    for (const [letters, first, abstain, expected] of [
      ['AAA', [0, 0, 0], [0, 0, 0], [0, 0, 0]],
      ['AAB', [0, 0, 0], [1, 1, 0], [0.5, 0.5, 0]],
      ['ABA', [1, 0, 0], [1, 0, 1], [0.5, 0, 0.5]],
      ['BAA', [0, 1, 1], [0, 1, 1], [0, 0.5, 0.5]],
      ['ABB', [0, -1, -1], [0, 0, 0], [0, -0.5, -0.5]],
      ['BAB', [-1, 0, 0], [0, 0, 0], [-0.5, 0, -0.5]],
      ['BBA', [0, 0, 0], [0, 0, 0], [-0.5, -0.5, 0]],
      ['ABC', [1, 0, 0], [0, 0, 0], [third, -third / 2, -third / 2]],
      ['BAC', [-1, 0, 0], [0, 0, 0], [-third / 2, third, -third / 2]],
      ['BCA', [0, 0, 0], [0, 0, 0], [-third / 2, -third / 2, third]],
      ['BBC', [0, 0, 0], [0, 0, 0], [0, 0, 0]],
      ['BBB', [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ] as const) {
      for (const [ties, values] of [
        ['first', first],
        ['abstain', abstain],
        ['expected', expected],
      ] as const) {
        const found = contributionsOf(await counted(letters, ties));
        found.forEach((value, voter) =>
          assert.ok(Math.abs((value ?? NaN) - (values[voter] ?? NaN)) < 1e-12, `${letters} ${ties}: ${found.join()}`),
        );
      }
    }
  });

  it('says who voted what, what is chosen, and that several lead', async () => {
    const clear = await counted('BAB');
    assert.deepEqual(
      clear.voters.map(({ message, role, answer, without }) => [message, role, answer, without]),
      [
        [10, 'voter1', 'B', ['A', 'B']],
        [11, 'voter2', 'A', ['B']],
        [12, 'voter3', 'B', ['B', 'A']],
      ],
    );
    assert.deepEqual(clear.tally, [
      { answer: 'B', votes: 2, chosen: true },
      { answer: 'A', votes: 1, chosen: false },
    ]);
    assert.deepEqual([clear.ties, clear.tied], ['expected', false]);
    const tied = await counted('BA', 'abstain');
    assert.deepEqual([tied.tied, tied.tally.some(({ chosen }) => chosen)], [true, false]);
  });

  it('calls pivotal whoever changes what is chosen, also where the reward stays', async () => {
    assert.deepEqual(
      await Promise.all(
        (['AAA', 'AAB', 'BBC', 'BCD', 'A', 'x'] as const).map(async (letters) => pivotalOf(await counted(letters))),
      ),
      // Without one of B B, B and C are tied; of three answers each is one of those that the mean is over.
      ['', '12', '12', '123', '1', ''],
    );
    assert.deepEqual(contributionsOf(await counted('BBC')), [0, 0, 0]);
    assert.deepEqual([pivotalOf(await counted('AAB', 'first')), pivotalOf(await counted('BCB', 'first'))], ['', '1']);
  });

  it('takes a voter without an answer as one who has no vote', async () => {
    const vote = await counted('xAB');
    assert.deepEqual(
      vote.voters.map(({ answer, pivotal, contribution }) => [answer, pivotal, contribution]),
      [
        [null, false, 0],
        ['A', true, 0.5],
        ['B', true, -0.5],
      ],
    );
    const nobody = await counted('xx');
    assert.deepEqual([nobody.tally, nobody.tied, contributionsOf(nobody)], [[], false, [0, 0]]);
  });

  it('gives Shapley values, and scores each answer once', async () => {
    // Of A A B by hand: a voter for A adds 1 first, 0 after the other, 1/2 after B, and 1/2 last.
    const { voters, evaluatorCalls } = await counted('AAB');
    const expected = [7 / 12, 7 / 12, -1 / 6];
    voters.forEach(({ shapley }, voter) =>
      assert.ok(Math.abs((shapley ?? NaN) - (expected[voter] ?? NaN)) < 1e-12, String(shapley)),
    );
    assert.deepEqual([evaluatorCalls, (await counted('xx')).evaluatorCalls], [2, 0]);
  });

  it('draws as the vote drew', async () => {
    const vote = await counted('AB', 'seeded');
    const [one] = vote.tally.filter(({ chosen }) => chosen);
    assert.ok(one !== undefined && vote.tally.filter(({ chosen }) => chosen).length === 1);
    assert.equal(
      (await counted('AB', 'seeded')).tally.findIndex(({ chosen }) => chosen),
      vote.tally.indexOf(one),
    );
  });

  it('has no contributions where answers cannot be scored without running code', async () => {
    const tests = { tests: ['assert f() == 1'], test: '', entryPoint: null, setup: '', prefix: '' };
    const vote = await counted('AAB', 'abstain', makeEvaluatorWithoutCode('auto', 'mathematics'), {
      ...INSTANCE,
      tests,
    });
    assert.deepEqual([contributionsOf(vote), pivotalOf(vote)], [[null, null, null], '12']);
  });

  it('is none of a protocol that ends otherwise', async () => {
    const protocol = parseProtocol(
      JSON.stringify({ name: 'one', roles: [{ role: 'solver', prompt: 'Solve.', with_answer: true }] }),
      'one.json',
    );
    const stored = { problem: INSTANCE, protocol, messages: [], event: { streamKey: KEY } };
    assert.equal(await recountVote(stored, makeEvaluatorWithoutCode('answer', 'stated')), null);
  });
});
