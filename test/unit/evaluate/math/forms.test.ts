/**
 * Forms in which answers are written beside plain ones: choices with their text, roundings, groups, functions, sums.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gradeMath } from '../../../../src/evaluate/math/grade.ts';

type Case = readonly [gold: string, answer: string, score: 0 | 1];

function graded(name: string, cases: readonly Case[]): void {
  test(name, () => {
    for (const [gold, answer, score] of cases) {
      for (const [expected, given] of [
        [gold, answer],
        [answer, gold],
      ] as const) {
        const verdict = gradeMath(expected, `\\boxed{${given}}`, 'strict');
        assert.equal(verdict.score, score, `${expected} | ${given}: ${verdict.rule}`);
      }
    }
  });
}

graded('a choice with what it says is that choice and that value, and no other', [
  ['B', '\\textbf{(B)}\\ 12', 1],
  ['12', '\\textbf{(B)}\\ 12', 1],
  ['\\text{(B)}', '\\textbf{(B) } 12', 1],
  ['\\frac12', '(B)\\;\\frac{1}{2}', 1],
  ['(B) 12', '\\textbf{(B)}\\ 12', 1],
  ['C', '\\textbf{(B)}\\ 12', 0],
  ['13', '\\textbf{(B)}\\ 12', 0],
  ['\\textbf{(C)}\\ 12', '\\textbf{(B)}\\ 12', 0],
  ['\\textbf{(B)}\\ 13', '\\textbf{(B)}\\ 12', 0],
  ['B-3', '(B) - 3', 1],
]);

graded('a value with what it rounds to is the value, and a decimal only where no decimal is exact', [
  ['\\sqrt{2}', '\\sqrt{2} \\approx 1.414', 1],
  ['\\sqrt{2}', 'x = \\sqrt{2} ≈ 1.414', 1],
  ['1.414', '\\sqrt{2} \\approx 1.414', 1],
  ['\\pi', '\\pi \\approx 3.14', 1],
  ['3.14', '\\approx 3.14', 1],
  ['1.414', 'x \\approx 1.414', 1],
  ['\\sqrt{3}', '\\sqrt{2} \\approx 1.414', 0],
  ['1.5', '\\sqrt{2} \\approx 1.414', 0],
  ['1.414', '\\sqrt{2}', 0],
  ['3', '\\frac{13}{4} \\approx 3', 0],
  // It does not round to that.
  ['\\sqrt{2}', '\\sqrt{2} \\approx 5', 0],
]);

graded('blanks may group digits by threes, and nothing else', [
  ['1000000', '1 000 000', 1],
  ['1000000', '1\\ 000\\ 000', 1],
  ['12345.5', '12 345.5', 1],
  ['5000 m', '5 000 m', 1],
  ['(1000, 2)', '(1 000, 2)', 1],
  ['1001', '1 000 + 1', 1],
  ['3.5', '3 100/200', 1],
  ['1234', '12 34', 0],
  ['10000', '1 0000', 0],
]);

graded('logarithms of powers and functions of known angles are numbers', [
  ['3', '\\log_2 8', 1],
  ['\\frac32', '\\log_4 8', 1],
  ['-1', '\\log_2 \\frac12', 1],
  ['3', '\\log_{1/2} \\frac18', 1],
  ['2', '\\lg 100', 1],
  ['2', '\\ln e^2', 1],
  ['0', '\\ln 1', 1],
  ['3', '\\log_2 9', 0],
  ['\\log_2 3', '\\log_2 3', 1],
  ['\\frac12', '\\sin 30^\\circ', 1],
  ['\\frac12', '\\sin(30°)', 1],
  ['\\frac12', '\\sin \\frac{\\pi}{6}', 1],
  ['-\\frac12', '\\cos 120^\\circ', 1],
  ['\\frac{\\sqrt6+\\sqrt2}{4}', '\\sin 75^\\circ', 1],
  ['-\\frac{\\sqrt2}{2}', '\\sin 585^\\circ', 1],
  ['\\sqrt3', '\\tan 60^\\circ', 1],
  ['2', '\\sec 60^\\circ', 1],
  ['\\frac14', '\\sin^2 30^\\circ', 1],
  ['\\sin 10^\\circ', '\\sin \\frac{\\pi}{18}', 1],
  ['\\frac12', '\\sin 30', 0],
  ['1', '\\sin 30^\\circ', 0],
  ['\\sin 10^\\circ', '\\sin 20^\\circ', 0],
]);

graded('blanks within a sum say nothing, and its letters are no units', [
  ['2+3', '2 +3', 1],
  ['x-1', 'x -1', 1],
  ['3+4t', '3 + 4 t', 1],
  ['g+2', '2 + g', 1],
  ['-m+2', '2 - m', 1],
  ['2g', '2*g', 1],
  ['5+3\\sqrt{2}', '5 + 3 \\sqrt {2}', 1],
  ['1.5', '1 + 1/2', 1],
  ['x+2', 'x + 3', 0],
]);
