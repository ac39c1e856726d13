/** Exact arithmetic on rationals and roots of integers, with every step counted. */

import { LimitReached, LIMITS, type Budget } from './budget.ts';
import type { Rational } from './rational.ts';

export const ZERO: Rational = { numerator: 0n, denominator: 1n };
export const ONE: Rational = { numerator: 1n, denominator: 1n };

export function toRational(value: bigint | number): Rational {
  return { numerator: BigInt(value), denominator: 1n };
}

/**
 * Returns a fraction in lowest terms; the denominator must not be 0.
 * @throws LimitReached
 */
export function reduceFraction(budget: Budget, numerator: bigint, denominator: bigint): Rational {
  budget.size(numerator);
  budget.size(denominator);
  if (denominator === 1n) {
    return { numerator, denominator };
  }
  const divisor = greatestCommonDivisor(budget, numerator, denominator);
  const sign = denominator < 0n ? -1n : 1n;
  return { numerator: (sign * numerator) / divisor, denominator: (sign * denominator) / divisor };
}

/**
 * Returns the greatest common divisor, positive unless both are 0.
 * @throws LimitReached
 */
export function greatestCommonDivisor(budget: Budget, a: bigint, b: bigint): bigint {
  let divisor = a;
  for (let rest = b; rest !== 0n;) {
    budget.spend(1);
    [divisor, rest] = [rest, divisor % rest];
  }
  return divisor < 0n ? -divisor : divisor;
}

export function plus(budget: Budget, a: Rational, b: Rational): Rational {
  return reduceFraction(
    budget,
    a.numerator * b.denominator + b.numerator * a.denominator,
    a.denominator * b.denominator,
  );
}

export function times(budget: Budget, a: Rational, b: Rational): Rational {
  return reduceFraction(budget, a.numerator * b.numerator, a.denominator * b.denominator);
}

export function negateRational(a: Rational): Rational {
  return { numerator: -a.numerator, denominator: a.denominator };
}

/** 1 / a; a must not be 0. */
export function invertRational(a: Rational): Rational {
  return a.numerator < 0n
    ? { numerator: -a.denominator, denominator: -a.numerator }
    : { numerator: a.denominator, denominator: a.numerator };
}

/**
 * Returns a to a whole power; a must not be 0 if the power is negative. The size is checked before
 * anything is multiplied.
 * @throws LimitReached
 */
export function raiseToInteger(budget: Budget, a: Rational, power: number): Rational {
  if (power < 0) {
    return raiseToInteger(budget, invertRational(a), -power);
  }
  if (a.denominator === 1n && (a.numerator === 0n || a.numerator === 1n)) {
    return power === 0 ? ONE : a;
  }
  if (a.denominator === 1n && a.numerator === -1n) {
    return power % 2 === 0 ? ONE : a;
  }
  if (floorLog2(a.numerator) * power > LIMITS.bits + 1 || floorLog2(a.denominator) * power > LIMITS.bits + 1) {
    throw new LimitReached();
  }
  budget.spend(20);
  return reduceFraction(budget, a.numerator ** BigInt(power), a.denominator ** BigInt(power));
}

/** Returns the number of binary digits of an integer minus 1; 0 for 0. */
function floorLog2(value: bigint): number {
  const digits = (value < 0n ? -value : value).toString(16);
  const first = Number.parseInt(digits.charAt(0), 16);
  return value === 0n ? 0 : (digits.length - 1) * 4 + Math.floor(Math.log2(first));
}

/** Returns the exact root of a whole number of at least 0, or null. Uses Newton's method from above. */
export function findExactRoot(budget: Budget, value: bigint, order: number): bigint | null {
  if (value < 2n) {
    return value;
  }
  const power = BigInt(order);
  let guess = 1n << BigInt(Math.floor((value.toString(16).length * 4) / order) + 1);
  for (;;) {
    budget.spend(5);
    const next = ((power - 1n) * guess + value / guess ** (power - 1n)) / power;
    if (next >= guess) {
      break;
    }
    guess = next;
  }
  return guess ** power === value ? guess : null;
}

/** The largest trial divisor. The rest is one factor, so distinct large primes are not separated. */
const LARGEST_DIVISOR = 1000n;

/**
 * Returns a whole number of at least 1 as powers of coprime bases: every prime up to LARGEST_DIVISOR,
 * and the rest as a power of its least root.
 */
export function factorInteger(
  budget: Budget,
  value: bigint,
): readonly { readonly base: bigint; readonly power: number }[] {
  const found: { base: bigint; power: number }[] = [];
  let rest = value;
  for (
    let divisor = 2n;
    divisor <= LARGEST_DIVISOR && rest > 1n && divisor * divisor <= rest;
    divisor += divisor === 2n ? 1n : 2n
  ) {
    budget.spend(1);
    let power = 0;
    while (rest % divisor === 0n) {
      budget.spend(1);
      rest /= divisor;
      power++;
    }
    if (power > 0) {
      found.push({ base: divisor, power });
    }
  }
  if (rest === 1n) {
    return found;
  }
  let power = 1;
  // Below the square of the largest divisor the rest is a prime.
  for (const order of rest < LARGEST_DIVISOR * LARGEST_DIVISOR ? [] : [2, 3, 5, 7]) {
    for (let root = findExactRoot(budget, rest, order); root !== null; root = findExactRoot(budget, rest, order)) {
      rest = root;
      power *= order;
    }
  }
  found.push({ base: rest, power });
  return found;
}

/** Returns the nearest double. */
export function toDouble({ numerator, denominator }: Rational): number {
  const above = Number(numerator);
  const below = Number(denominator);
  if (Number.isFinite(above) && Number.isFinite(below)) {
    return above / below;
  }
  return Number((numerator << 64n) / denominator) / 2 ** 64;
}
