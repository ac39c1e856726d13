import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Budget, LimitReached, LIMITS, Unreadable } from '../../../../src/evaluate/math/exact/budget.ts';
import {
  findExactRoot,
  factorInteger,
  greatestCommonDivisor,
  reduceFraction,
  toRational,
  raiseToInteger,
} from '../../../../src/evaluate/math/exact/numbers.ts';
import { Algebra, type Quotient } from '../../../../src/evaluate/math/exact/polynomial.ts';
import { approximateValue } from '../../../../src/evaluate/math/exact/powers.ts';
import { readExpression } from '../../../../src/evaluate/math/expression.ts';
import { tokenizeAnswer } from '../../../../src/evaluate/math/lex.ts';

/** A small generator of its own, so that the trees are the same in every run. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

interface Tree {
  readonly text: string;
  /** By JavaScript's own arithmetic on doubles. */
  readonly size: number;
}

/**
 * A random expression of integers and square roots with its value in doubles; `turned` writes sums and products the
 * other way round.
 */
function tree(draw: (below: number) => number, depth: number, turned: boolean): Tree {
  const choice = depth === 0 ? draw(2) : draw(6);
  if (choice === 0) {
    const whole = draw(9) + 1;
    return { text: String(whole), size: whole };
  }
  if (choice === 1) {
    const radicand = draw(30) + 1;
    return { text: `\\sqrt{${radicand}}`, size: Math.sqrt(radicand) };
  }
  const [left, right] = [tree(draw, depth - 1, turned), tree(draw, depth - 1, turned)];
  const [first, second] = turned ? [right, left] : [left, right];
  if (choice === 2) {
    return { text: `(${first.text}+${second.text})`, size: left.size + right.size };
  }
  if (choice === 3) {
    return {
      text: turned ? `(-(${right.text})+${left.text})` : `(${left.text}-${right.text})`,
      size: left.size - right.size,
    };
  }
  if (choice === 4) {
    return { text: `${first.text}\\cdot ${second.text}`, size: left.size * right.size };
  }
  return {
    text: turned ? `(\\frac{1}{${right.text}}\\cdot ${left.text})` : `\\frac{${left.text}}{${right.text}}`,
    size: left.size / right.size,
  };
}

function read(text: string, algebra: Algebra): Quotient {
  return readExpression(tokenizeAnswer(text, algebra.budget), algebra).value;
}

test('normal forms agree with doubles, and with themselves however they are written', () => {
  const draw = sequence(7);
  let compared = 0;
  for (let round = 0; round < 3000; round++) {
    const seed = draw(1_000_000) + 1;
    const [plain, turned] = [tree(sequence(seed), 3, false), tree(sequence(seed), 3, true)];
    if (!Number.isFinite(plain.size) || Math.abs(plain.size) > 1e6) {
      continue;
    }
    const algebra = new Algebra(new Budget());
    try {
      const value = read(plain.text, algebra);
      const size = approximateValue(algebra, value);
      assert.ok(
        size !== null && Math.abs(size - plain.size) <= 1e-6 * Math.max(1, Math.abs(plain.size)),
        `${plain.text}: ${String(size)} is not ${plain.size}`,
      );
      assert.ok(algebra.equal(value, read(turned.text, algebra)), `${plain.text} is ${turned.text}`);
      compared++;
    } catch (error) {
      // A division by something that is exactly 0, or a large sum.
      if (!(error instanceof Unreadable) && !(error instanceof LimitReached)) {
        throw error;
      }
    }
  }
  assert.ok(compared > 1500, `${compared} were compared`);
});

test('equal forms have equal sizes: no two different numbers are taken for one', () => {
  const draw = sequence(11);
  const trees = Array.from({ length: 120 }, () => tree(draw, 2, false)).filter(
    ({ size }) => Number.isFinite(size) && Math.abs(size) < 1e6,
  );
  let equal = 0;
  for (const [at, left] of trees.entries()) {
    for (const right of trees.slice(at + 1)) {
      const algebra = new Algebra(new Budget());
      try {
        const same = algebra.equal(read(left.text, algebra), read(right.text, algebra));
        assert.equal(
          same,
          Math.abs(left.size - right.size) < 1e-9 * Math.max(1, Math.abs(left.size)),
          `${left.text} and ${right.text}`,
        );
        equal += same ? 1 : 0;
      } catch (error) {
        if (!(error instanceof Unreadable) && !(error instanceof LimitReached)) {
          throw error;
        }
      }
    }
  }
  assert.ok(equal > 0);
});

test('integers: factors multiply back, roots and divisors are those of brute force', () => {
  for (let value = 1n; value < 3000n; value++) {
    const found = factorInteger(new Budget(), value);
    assert.equal(
      found.reduce((product, { base, power }) => product * base ** BigInt(power), 1n),
      value,
    );
    for (const { base } of found) {
      for (let divisor = 2n; divisor * divisor <= base; divisor++) {
        assert.notEqual(base % divisor, 0n, `${base} of ${value} is prime`);
      }
    }
  }
  const squares = new Set(Array.from({ length: 60 }, (_, root) => root ** 2));
  for (let value = 0; value < 3000; value++) {
    const root = findExactRoot(new Budget(), BigInt(value), 2);
    assert.equal(root !== null, squares.has(value), String(value));
    assert.ok(root === null || root * root === BigInt(value));
  }
  for (const root of [2n, 3n, 1009n, 10n ** 20n + 39n]) {
    for (const order of [2, 3, 5, 7]) {
      assert.equal(findExactRoot(new Budget(), root ** BigInt(order), order), root);
      assert.equal(findExactRoot(new Budget(), root ** BigInt(order) + 1n, order), null);
    }
  }
  for (let a = -20n; a <= 20n; a++) {
    for (let b = 1n; b <= 20n; b++) {
      const divisor = greatestCommonDivisor(new Budget(), a, b);
      assert.ok(a % divisor === 0n && b % divisor === 0n);
      for (let larger = divisor + 1n; larger <= 20n; larger++) {
        assert.ok(a % larger !== 0n || b % larger !== 0n);
      }
      const { numerator, denominator } = reduceFraction(new Budget(), a, -b);
      assert.ok(denominator > 0n && numerator * -b === a * denominator);
    }
  }
});

test('a budget ends exactly where it says, and integers are at most their bound', () => {
  const budget = new Budget();
  budget.spend(LIMITS.operations);
  assert.throws(() => budget.spend(1), LimitReached);
  assert.equal(new Budget().size(1n << BigInt(LIMITS.bits)), 1n << BigInt(LIMITS.bits));
  assert.throws(() => new Budget().size((1n << BigInt(LIMITS.bits)) + 1n), LimitReached);
  assert.throws(
    () => raiseToInteger(new Budget(), toRational(3), 2 ** 40),
    LimitReached,
    'before anything is multiplied',
  );
  assert.equal(raiseToInteger(new Budget(), toRational(2), LIMITS.bits).numerator, 1n << BigInt(LIMITS.bits));
  assert.throws(() => raiseToInteger(new Budget(), toRational(2), LIMITS.bits + 1), LimitReached);
  const half = { numerator: 1n, denominator: 2n };
  assert.equal(raiseToInteger(new Budget(), half, LIMITS.bits).denominator, 1n << BigInt(LIMITS.bits));
  assert.throws(() => new Budget().size(-(1n << BigInt(LIMITS.bits)) - 1n), LimitReached);
});
