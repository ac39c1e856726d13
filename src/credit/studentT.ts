/** Tails of Student's t and of the F distribution, and quantiles of t and beta, by the incomplete beta function. */

import { C3Error } from '../shared/errors.ts';

/** Lanczos coefficients for g = 7, nine terms (Godfrey): about 15 digits. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];
const MAX_TERMS = 10_000;

/** Returns the natural logarithm of the gamma function for x > 0. */
export function logGamma(x: number): number {
  let sum = 0;
  for (const [index, coefficient] of LANCZOS.entries()) {
    sum += index === 0 ? coefficient : coefficient / (x - 1 + index);
  }
  const base = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(sum);
}

/**
 * Returns the regularized incomplete beta function I_x(a, b), by Lentz's continued fraction (DLMF
 * 8.17.22).
 * @param x in [0, 1]
 * @param a positive
 * @param b positive
 * @throws C3Error('input') for arguments outside these bounds
 */
export function regularizedBeta(x: number, a: number, b: number): number {
  if (!(x >= 0 && x <= 1 && a > 0 && b > 0)) {
    throw new C3Error('input', `The incomplete beta function is not defined at x = ${x}, a = ${a}, b = ${b}.`);
  }
  if (x === 0 || x === 1) {
    return x;
  }
  // The fraction converges fast only on this side of the mean.
  if (x > (a + 1) / (a + b + 2)) {
    return 1 - regularizedBeta(1 - x, b, a);
  }
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  return front * betaFraction(x, a, b);
}

function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const away = (value: number): number => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= MAX_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) {
      break;
    }
  }
  return result;
}

/** Most steps in the search for a quantile, and the largest difference of the last two. */
const MOST_STEPS = 100;
const NEAR = 1e-12;

/**
 * Returns the quantile of a beta distribution at probability p, by Newton's method within shrinking
 * bounds.
 * @param p in (0, 1)
 * @param a positive
 * @param b positive
 */
export function betaQuantile(p: number, a: number, b: number): number {
  const whole = logGamma(a + b) - logGamma(a) - logGamma(b);
  let [low, high] = [0, 1];
  let x = a / (a + b);
  for (let step = 0; step < MOST_STEPS; step++) {
    const beyond = regularizedBeta(x, a, b) - p;
    [low, high] = beyond < 0 ? [x, high] : [low, x];
    const density = Math.exp(whole + (a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x));
    const guess = x - beyond / density;
    const next = guess > low && guess < high ? guess : (low + high) / 2;
    if (Math.abs(next - x) <= NEAR) {
      return next;
    }
    x = next;
  }
  return x;
}

/**
 * Returns the quantile of Student's t distribution at probability p.
 * @param p in (0, 1)
 * @param degrees degrees of freedom, positive, may be fractional
 * @throws C3Error('input') for arguments outside these bounds
 */
export function studentTQuantile(p: number, degrees: number): number {
  if (!(p > 0 && p < 1 && degrees > 0 && Number.isFinite(degrees))) {
    throw new C3Error('input', `Student's t has no quantile for p = ${p} and ${degrees} degrees of freedom.`);
  }
  if (p === 0.5) {
    return 0;
  }
  if (p < 0.5) {
    return -studentTQuantile(1 - p, degrees);
  }
  const upperTail = (t: number): number => 0.5 * regularizedBeta(degrees / (degrees + t * t), degrees / 2, 0.5);
  let low = 0;
  let high = 1;
  while (upperTail(high) > 1 - p) {
    low = high;
    high *= 2;
  }
  for (let middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (upperTail(middle) > 1 - p) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (low + high) / 2;
}

/**
 * Returns the probability that an F variable exceeds `ratio`.
 * @param ratio at least 0, may be infinite
 * @param between degrees of freedom of the numerator
 * @param within degrees of freedom of the denominator
 */
export function fUpperTail(ratio: number, between: number, within: number): number {
  return regularizedBeta(within / (within + between * ratio), within / 2, between / 2);
}
