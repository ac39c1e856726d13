/**
 * Hostile answers: whatever a message says, the graders give a verdict, by a bounded number of steps, and the same from
 * both sides.
 */

import { describe, it } from 'node:test';
import fc from 'fast-check';
import { gradeAnswer } from '../../src/evaluate/answer.ts';
import { gradeMath, GRADERS } from '../../src/evaluate/math/grade.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { diffWords } from '../../src/shared/transcript/wordDiff.ts';
import { growth, MOST_GROWTH, seed, tally } from './harness.ts';

const graders = tally('graders');

/** What mathematics, LaTeX, units and the search for an answer each read as something of their own. */
const PARTS = [
  '0',
  '-0',
  '1',
  '7',
  '12',
  '0.5',
  '.5',
  '1e308',
  '1e-320',
  '1e999',
  '1,000',
  '1{,}000',
  '9007199254740993',
  '123456789012345678901234567890',
  'Infinity',
  'NaN',
  '½',
  '²',
  'π',
  '∞',
  '１２',
  '٣',
  '−',
  '–',
  '+',
  '-',
  '*',
  '/',
  '^',
  '^{',
  '_',
  '!',
  '!!',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '\\{',
  '\\}',
  '|',
  ',',
  ';',
  ':',
  '=',
  '<',
  '\\le',
  '%',
  '\\%',
  '$',
  '$$',
  '\\(',
  '\\)',
  '\\[',
  '\\]',
  '&',
  '\\\\',
  '~',
  '°',
  '\\frac',
  '\\frac{1}{',
  '\\dfrac12',
  '\\sqrt',
  '\\sqrt[3]{',
  '\\sqrt{',
  '\\left(',
  '\\right)',
  '\\cdot',
  '\\times',
  '\\div',
  '\\pm',
  '\\pi',
  '\\infty',
  '\\text{',
  '\\mathrm{',
  '\\boxed{',
  '\\boxed',
  '\\fbox{',
  '\\cup',
  '\\cap',
  '\\emptyset',
  '\\begin{pmatrix}',
  '\\end{pmatrix}',
  '\\log_2',
  '\\sin',
  '\\binom{',
  '\\overline{',
  'x',
  'y',
  'e',
  'i',
  'cm',
  'km/h',
  '\\text{ cm}',
  'dollars',
  'A',
  '(B)',
  '####',
  '#### ',
  'The answer is ',
  'answer: ',
  '答案是',
  '。',
  '.',
  '\n',
  ' ',
  '\t',
  '\u0000',
  '\u202e',
  '\ud800',
  '😀',
  '__proto__',
  'constructor',
];
const texts = fc.oneof(
  fc.array(fc.constantFrom(...PARTS), { maxLength: 25 }).map((parts) => parts.join('')),
  fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }).map((parts) => `\\boxed{${parts.join('')}}`),
  fc
    .tuple(fc.constantFrom(...PARTS), fc.nat(3_000))
    .map(([part, times]) => part.repeat(Math.min(times, Math.ceil(6_000 / part.length)))),
  fc.string({ unit: 'binary', maxLength: 60 }),
);
/** Deterministic work takes the same time wherever it runs; this is a hundred times what the longest takes here. */
const MOST_MILLISECONDS = 3_000;

function verdictOf(what: string, grade: () => { readonly score: number | null; readonly rule: string }): void {
  const before = process.cpuUsage();
  try {
    const { score, rule } = grade();
    if ((score !== 0 && score !== 1) || rule === '') {
      graders.broken(`${what} gives ${String(score)} by ${JSON.stringify(rule)}`);
    }
  } catch (error) {
    // Only a gold answer that says nothing is refused.
    if (!(error instanceof C3Error && error.kind === 'input')) {
      throw error;
    }
  }
  const milliseconds = process.cpuUsage(before).user / 1000;
  if (milliseconds > MOST_MILLISECONDS) {
    graders.broken(`${what} took ${milliseconds.toFixed(0)} ms`);
  }
  graders.held();
}

/** How much is tried. */
export interface GradersSizes {
  /** Answers for each grader of mathematics. */
  readonly answers: number;
  /** Answers for the grader of stated numbers. */
  readonly statedNumbers: number;
  /** Pairs that are compared from both sides. */
  readonly pairs: number;
  /** Parts that are repeated, whose time is taken. */
  readonly parts: number;
  /** Characters of the shortest text whose time is taken. */
  readonly length: number;
  /** Pairs that are compared word by word. */
  readonly differences: number;
}

/** Attacks with answers, as many as the sizes say. */
export function gradersAttacks(sizes: GradersSizes): void {
  describe('a hostile answer', () => {
    for (const grader of GRADERS) {
      it(`gets a verdict from the ${grader} grader of mathematics`, () => {
        fc.assert(
          fc.property(texts, texts, (gold, prediction) =>
            verdictOf(JSON.stringify([gold, prediction]).slice(0, 2_000), () => gradeMath(gold, prediction, grader)),
          ),
          { seed: seed(), numRuns: sizes.answers },
        );
      });
    }

    it('gets a verdict from the grader of stated numbers', () => {
      fc.assert(
        fc.property(texts, texts, (gold, prediction) =>
          verdictOf(JSON.stringify([gold, prediction]).slice(0, 2_000), () => gradeAnswer(gold, prediction)),
        ),
        { seed: seed(), numRuns: sizes.statedNumbers },
      );
    });

    it('equals itself, and its verdict is the same from both sides', () => {
      const numbers = fc.oneof(
        fc.integer().map(String),
        fc.constantFrom(
          '0.5',
          '\\frac{1}{2}',
          '1/2',
          '2^{10}',
          '1024',
          '\\sqrt{4}',
          '2',
          'x+1',
          '1+x',
          '(1,2)',
          '(1, 2)',
          '\\{1,2\\}',
          '[0,1)',
          '\\pi',
          '-3',
          '1e3',
          '1000',
          '3!',
          '6',
        ),
      );
      fc.assert(
        fc.property(numbers, numbers, (one, other) => {
          const [there, back] = [
            gradeMath(one, `\\boxed{${other}}`, 'strict').score,
            gradeMath(other, `\\boxed{${one}}`, 'strict').score,
          ];
          if (there !== back) {
            graders.broken(`${one} is ${other}: ${there}; the other way round: ${back}`);
          }
          if (gradeMath(one, `\\boxed{${one}}`, 'strict').score !== 1) {
            graders.broken(`${one} is not itself`);
          }
          graders.held();
        }),
        { seed: seed(), numRuns: sizes.pairs },
      );
    });

    it('takes time that grows with its length alone', () => {
      for (const part of PARTS.slice(0, sizes.parts)) {
        const ratio = growth(sizes.length, (length) =>
          gradeMath('42', `${part.repeat(Math.ceil(length / part.length))} The answer is 42`, 'strict'),
        );
        if (ratio > MOST_GROWTH) {
          graders.broken(
            `${JSON.stringify(part)} again and again: ten times the text takes ${ratio.toFixed(0)} times as long`,
          );
        }
        graders.held();
      }
    });
  });

  describe('two texts that are compared word by word', () => {
    it('give parts that join to both, whatever they hold', () => {
      fc.assert(
        fc.property(texts, texts, (before, after) => {
          const parts = diffWords(before, after);
          const side = (left: 'added' | 'removed'): string =>
            parts
              .filter(({ kind }) => kind !== left)
              .map(({ text }) => text)
              .join('');
          if (!before.startsWith(side('added')) || !after.startsWith(side('removed'))) {
            graders.broken(JSON.stringify([before, after]));
          }
          graders.held();
        }),
        { seed: seed(), numRuns: sizes.differences },
      );
    });
  });
}
