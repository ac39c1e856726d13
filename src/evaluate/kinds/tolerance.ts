/** Checks that a stated number is within a tolerance of the answer, exactly. */

import { findUnusableAnswer, type EvaluatorKind } from '../kind.ts';
import { parseRational, type Rational } from '../math/exact/rational.ts';
import { extractAnswer } from '../math/extract.ts';

export const tolerance = {
  name: 'tolerance',
  words:
    'The stated number must be within the tolerance of the answer, which has the form `3.14 +- 0.01` or `250 +- 2%`.',
  runsCode: false,
  fault: (problems) =>
    findUnusableAnswer('tolerance', 'a number with a tolerance', problems, (text) =>
      parseTolerance(text) === null ? 'it must have the form `3.14 +- 0.01` or `250 +- 2%`' : null,
    ),
  make: () => ({
    name: 'tolerance',
    evaluate: ({ answer, uid }, text) => {
      const key = parseTolerance(answer);
      return Promise.resolve(
        key === null
          ? { score: null, rule: 'no-gold', masked: `The answer of problem ${uid} is no number with a tolerance.` }
          : gradeTolerance(key, text),
      );
    },
  }),
} as const satisfies EvaluatorKind;

/** A number and the largest distance from it. */
interface ToleranceKey {
  readonly value: Rational;
  /** At least 0, in the unit of the value. */
  readonly tolerance: Rational;
}

interface ToleranceVerdict {
  readonly score: 0 | 1;
  /** The place of the number and the result, such as `boxed: within the tolerance`; or `no-answer`. */
  readonly rule: string;
}

/**
 * Reads `3.14 +- 0.01`, or with ± in place of +-; `250 +- 2%` means 2 % of 250.
 * @returns null if the text has another form
 */
export function parseTolerance(text: string): ToleranceKey | null {
  const [left, right, ...more] = text.split(/\+-|±/u).map((part) => part.trim());
  const value = parseRational(left ?? '');
  const tolerance = parseRational(right ?? '');
  if (value === null || tolerance === null || tolerance.numerator < 0n || more.length > 0) {
    return null;
  }
  return {
    value,
    tolerance: right?.endsWith('%') === true ? multiplyRationals(toAbsolute(value), tolerance) : tolerance,
  };
}

/** Grades the number that a message states. Both ends of the tolerance count as within. */
function gradeTolerance({ value, tolerance }: ToleranceKey, message: string): ToleranceVerdict {
  const { answer, rule } = extractAnswer(message);
  if (answer === null) {
    return { score: 0, rule };
  }
  const number = parseRational(answer);
  if (number === null) {
    return { score: 0, rule: `${rule}: not a number` };
  }
  const distance = toAbsolute({
    numerator: number.numerator * value.denominator - value.numerator * number.denominator,
    denominator: number.denominator * value.denominator,
  });
  const isWithin = distance.numerator * tolerance.denominator <= tolerance.numerator * distance.denominator;
  return { score: isWithin ? 1 : 0, rule: `${rule}: ${isWithin ? 'within' : 'outside'} the tolerance` };
}

const toAbsolute = ({ numerator, denominator }: Rational): Rational => ({
  numerator: numerator < 0n ? -numerator : numerator,
  denominator,
});

const multiplyRationals = (a: Rational, b: Rational): Rational => ({
  numerator: a.numerator * b.numerator,
  denominator: a.denominator * b.denominator,
});
