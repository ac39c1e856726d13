import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gradeChain, parseChain, type ChainKey } from '../../../src/evaluate/chain.ts';
import { TEAM_SIZES } from '../../../src/shared/runNames.ts';
import { yieldChains } from '../../../src/tasks/chain/chain.ts';
import type { DemonstratedProblem } from '../../../src/tasks/demonstration.ts';
import { generateSplit } from '../../../src/tasks/split.ts';
import { isInputError } from './expect.ts';

const SIZES = TEAM_SIZES.chain;

function chains(count: number, seed = 'a', levels = [1, 1, 1, 1], sizes = SIZES): DemonstratedProblem[] {
  const found: DemonstratedProblem[] = [];
  for (const chain of yieldChains(seed, levels, sizes)) {
    if (found.push(chain) === count) {
      break;
    }
  }
  return found;
}

function keyOf({ answer }: DemonstratedProblem): ChainKey {
  const key = parseChain(answer);
  assert.ok(key !== null, answer);
  return key;
}

const LETTERS = 'ABCDEFGHIJKLMNOP';

/** What the question asks for, read by itself: whether some letters are a solution. */
function oracle(question: string): (letters: readonly string[]) => boolean {
  const [, count, from = '', to = '', by = '', left = ''] =
    /^Chain of (\d), ring of 16: from (\w) to (\w) by ([\d ]+) without ([A-P ]+)$/u.exec(question) ?? [];
  const follows = (before: string, letter: string): boolean =>
    by.split(' ').some((step) => (LETTERS + LETTERS)[LETTERS.indexOf(before) + Number(step)] === letter);
  return (letters) =>
    letters.length === Number(count) &&
    letters.at(-1) === to &&
    letters.every((letter, index) => follows(letters[index - 1] ?? from, letter) && !left.split(' ').includes(letter));
}

describe('the chain task', () => {
  it('scores the solution of 500 chains 1, and each change of one letter by what the question says of it', () => {
    const seen = { holding: 0, broken: 0 };
    for (const chain of chains(500)) {
      const [key, isSolution] = [keyOf(chain), oracle(chain.question)];
      const score = (said: readonly string[]): number => gradeChain(key, said.join(', ')).score;
      assert.ok(isSolution(chain.said), `${chain.question}: ${chain.said.join()}`);
      assert.equal(score(chain.said), 1);
      for (const [place, own] of chain.said.entries()) {
        for (const other of `${LETTERS}QZ`) {
          const changed = chain.said.with(place, other);
          const holds = isSolution(changed);
          assert.equal(score(changed), holds ? 1 : 0, `${chain.question}: ${changed.join()}`);
          seen[holds ? 'holding' : 'broken'] += other === own ? 0 : 1;
        }
        // What is no letter of the chain, one fewer, one more.
        for (const text of ['', own.toLowerCase(), `${own}${own}`, `${own} ${own}`, `${own}.`, '1']) {
          assert.equal(score(chain.said.with(place, text)), 0, JSON.stringify(text));
        }
        assert.equal(score(chain.said.toSpliced(place, 1)), 0);
        assert.equal(score(chain.said.toSpliced(place, 0, own)), 0);
      }
    }
    // Most changes break a chain, and some are another solution of it.
    assert.ok(seen.broken > 30_000 && seen.holding > 100, JSON.stringify(seen));
  });

  it('draws the same chains for a seed, each question once, of every size and level', () => {
    const some = chains(400);
    assert.deepEqual(chains(400), some);
    assert.notDeepEqual(
      chains(3, 'b').map(({ question }) => question),
      some.slice(0, 3).map(({ question }) => question),
    );
    assert.equal(new Set(some.map(({ uidSha }) => uidSha)).size, 400);
    assert.deepEqual([...new Set(some.map(({ said }) => said.length))].toSorted(), [...SIZES]);
    assert.deepEqual([...new Set(some.map(({ level }) => level))].toSorted(), [1, 2, 3, 4]);
    for (const { question } of some) {
      assert.match(question, /^Chain of [2-8], ring of 16: from [A-P] to [A-P] by 1 2 5 without [A-P]( [A-P]){1,5}$/u);
    }
    const { train, evaluation } = generateSplit({ task: 'chain', seed: 'c', train: 60, evaluation: 20, roles: 5 });
    assert.ok([...train, ...evaluation].every(({ said }) => said.length === 5));
  });

  it('shows in haste steps that hold, but rarely come to the goal', () => {
    let solved = 0;
    for (const chain of chains(400, 'a', [1, 1, 1, 1], [4])) {
      const { score, rule } = gradeChain(keyOf(chain), chain.saidInHaste.join(', '));
      solved += score;
      assert.match(
        rule,
        /^chain: (?:all 4 links hold|it ends at [A-P], not at [A-P]|link \d comes to [A-P], which is left out)$/u,
      );
    }
    assert.ok(solved > 40 && solved < 160, String(solved));
  });

  it('says where it has no more chains, and refuses levels and teams that it does not have', () => {
    const draw = (): number => [...yieldChains('a', [1], [2])].length;
    assert.throws(draw, isInputError(/no more than about 8\d{3} questions of the levels \[1\] for teams of 2/u));
    assert.throws(() => yieldChains('a', [0]), isInputError(/not valid/u));
    assert.throws(() => yieldChains('a', [1, 1, 1, 1, 1]), isInputError(/1 to 4 weights/u));
    assert.throws(() => yieldChains('a', [1], [9]), isInputError(/2 to 8 roles/u));
    assert.throws(() => yieldChains('a', [1], [1]), isInputError(/2 to 8 roles/u));
  });
});
