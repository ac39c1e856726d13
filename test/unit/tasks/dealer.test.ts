import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gradePoints, parsePoints, type PointsKey } from '../../../src/evaluate/points.ts';
import { TEAM_SIZES } from '../../../src/shared/runNames.ts';
import { yieldHands, measureLearnedShare, computeStakes, SEATS, SIDES } from '../../../src/tasks/dealer/dealer.ts';
import type { DemonstratedProblem } from '../../../src/tasks/demonstration.ts';
import { isInputError } from './expect.ts';

const LEVELS = [1, 2, 3, 4, 5, 6, 7, 8];
const RHO = [0.2, 1, 3, 8, 0.2, 1, 3, 8];
const SIZES = TEAM_SIZES.dealer;

function hands(count: number, seed = 'a', levels = [1, 1, 1, 1, 1, 1, 1, 1], sizes = SIZES): DemonstratedProblem[] {
  const found: DemonstratedProblem[] = [];
  for (const hand of yieldHands(seed, levels, sizes)) {
    if (found.push(hand) === count) {
      break;
    }
  }
  return found;
}

/** The hands of one level and size. */
const handsOf = (level: number, roles: number, count: number): DemonstratedProblem[] =>
  hands(
    count,
    'a',
    LEVELS.map((one) => (one === level ? 1 : 0)),
    [roles],
  );

function keyOf({ answer }: DemonstratedProblem): PointsKey {
  const key = parsePoints(answer);
  assert.ok(key !== null, answer);
  return key;
}

const PILES = SIDES.flat();

/** Every message that a team in form may end with, each likely alike, by what the dealer says of it. */
function messagesOf({ question }: DemonstratedProblem): string[][] {
  const [own = '', ...others] = (question.split(': ')[1] ?? '').split(', ');
  return PILES.map((pile) =>
    others.reduce<string[]>(
      // One pile of each side: the others of a side score the same.
      (before, card) => before.flatMap((text) => ['A', 'H'].map((other) => `${text}, ${card} ${other}`)),
      [`${own} ${pile}`],
    ),
  );
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values: readonly number[]): number => mean(values.map((value) => (value - mean(values)) ** 2));

describe('the dealer task', () => {
  it('has eight cards for each seat, none twice, and four piles on each side', () => {
    assert.ok(SEATS.every((cards) => cards.length === 8));
    assert.equal(new Set(SEATS.flat()).size, 48);
    assert.deepEqual(
      SIDES.map((piles) => piles.length),
      [4, 4],
    );
    assert.equal(SEATS.length, Math.max(...SIZES));
  });

  it('draws the same hands for a seed, each question once, each demonstration in the form that it scores', () => {
    const some = hands(400);
    assert.deepEqual(hands(400), some);
    assert.equal(new Set(some.map(({ uidSha }) => uidSha)).size, 400);
    for (const { question, said, answer } of some) {
      assert.match(question, /^Table [1-8], hand \d{5}: dealer \w+, first \w+(?:, \w+ \w+)*$/u);
      assert.equal(said.length, question.split(', ').length - 1);
      const last = said.at(-1) ?? '';
      assert.ok(said.every((text) => last.startsWith(text)));
      assert.match(gradePoints(parsePoints(answer) ?? { parts: [], total: 1 }, last).rule, /^points: \d+ of \d+ \(/u);
    }
  });

  it('shows the right side of a card a little more often than the other, and in haste either alike', () => {
    const shares = (['said', 'saidInHaste'] as const).map((form) => {
      const right: number[] = [];
      for (const hand of handsOf(6, 6, 800)) {
        for (const [seat, part] of (hand[form].at(-1) ?? '').split(', ').entries()) {
          right.push((keyOf(hand).parts[seat]?.get(part.toLowerCase()) ?? 0) > 0 ? 1 : 0);
        }
      }
      return mean(right);
    });
    assert.ok(Math.abs((shares[0] ?? 0) - 0.7) < 0.03 && Math.abs((shares[1] ?? 0) - 0.5) < 0.03, shares.join(', '));
  });

  it('has one rule for each card: the piles of one side, of the first for half of the cards of a seat', () => {
    const right = new Map<string, Set<string>>();
    for (const hand of handsOf(2, 6, 2000)) {
      for (const part of keyOf(hand).parts.slice(1)) {
        const texts = [...part].flatMap(([text, points]) => (points > 0 ? [text.toUpperCase()] : []));
        const [, card = ''] = (texts[0] ?? '').toLowerCase().split(' ');
        const piles = texts.map((text) => text.slice(-1)).join('');
        right.set(card, (right.get(card) ?? new Set()).add(piles));
      }
    }
    assert.equal(right.size, 40);
    assert.ok([...right.values()].every((piles) => piles.size === 1));
    for (const cards of SEATS.slice(1)) {
      assert.equal(cards.filter((card) => right.get(card)?.has('ABCD')).length, 4);
      assert.equal(cards.filter((card) => right.get(card)?.has('EFGH')).length, 4);
    }
  });

  it('hides luck in the hand alone: two lucky piles on each side, other ones in other hands, the same for every seed', () => {
    const lucky = handsOf(4, 2, 600).map((hand) => {
      const { luck } = computeStakes(4, 2);
      return [...(keyOf(hand).parts[0] ?? [])].map(([, points]) => (points >= luck ? 1 : 0));
    });
    assert.ok(lucky.every((all) => mean(all.slice(0, 4)) === 0.5 && mean(all.slice(4)) === 0.5));
    for (const pile of PILES.keys()) {
      assert.ok(Math.abs(mean(lucky.map((all) => all[pile] ?? 0)) - 0.5) < 0.07);
    }
    const known = new Map(hands(4000, 'a', [1], [2]).map((hand) => [hand.question, hand.answer]));
    const shared = hands(40_000, 'b', [1], [2]).filter(({ question }) => known.has(question));
    assert.ok(shared.length > 0);
    assert.ok(shared.every(({ question, answer }) => known.get(question) === answer));
  });

  it('has the rho of its level where a team chooses each pile alike: every message of a hand counted', () => {
    for (const roles of SIZES) {
      for (const [index, level] of LEVELS.entries()) {
        const [up, down]: [number[], number[]] = [[], []];
        for (const hand of handsOf(level, roles, 12)) {
          const key = keyOf(hand);
          const scores = messagesOf(hand).map((all) => all.map((text) => gradePoints(key, text).score));
          up.push(variance(scores.map(mean)));
          down.push(mean(scores.map(variance)));
        }
        const rho = mean(up) / mean(down);
        assert.ok(Math.abs(rho / (RHO[index] ?? 0) - 1) < 0.03, `level ${level}, ${roles}: ${rho}`);
      }
    }
  });

  it('gives back from a return what was right of what can be learned, without the luck', () => {
    for (const roles of SIZES) {
      for (const level of LEVELS) {
        const [hand] = handsOf(level, roles, 1);
        assert.ok(hand !== undefined);
        const { luck, dealer, total } = computeStakes(level, roles);
        const key = keyOf(hand);
        for (const text of messagesOf(hand).flat()) {
          const said = text.toLowerCase().split(', ');
          const [first = 0, ...players] = key.parts.map((part, index) => part.get(said[index] ?? '') ?? 0);
          const own = first === luck || first === luck + dealer ? first - luck : first;
          const lessons = players.reduce((sum, points) => sum + points, own);
          const share = measureLearnedShare(gradePoints(key, text).score, level, roles);
          assert.ok(share !== null && Math.abs(share - lessons / (total - luck)) < 1e-12, `${hand.answer}\n${text}`);
        }
      }
    }
    assert.equal(measureLearnedShare(0, 4, 2), 0);
    assert.equal(measureLearnedShare(0.011, 4, 2), null);
  });

  it('refuses levels and teams that it does not have', () => {
    assert.throws(() => yieldHands('a', [0]), isInputError(/not valid/u));
    assert.throws(
      () =>
        yieldHands(
          'a',
          Array.from({ length: 9 }, () => 1),
        ),
      isInputError(/1 to 8 weights/u),
    );
    assert.throws(() => yieldHands('a', [1], [7]), isInputError(/2 to 6 roles/u));
    assert.throws(() => computeStakes(9, 2), isInputError(/levels 1 to 8/u));
  });
});
