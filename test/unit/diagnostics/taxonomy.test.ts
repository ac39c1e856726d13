import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  findUnmeasured,
  listCases,
  describeEvidence,
  classifyStudy,
  studyBucket,
  type TaxonomyBucket,
} from '../../../src/diagnostics/taxonomy.ts';
import {
  TAXONOMY_CLASSES,
  TAXONOMY_THRESHOLDS,
  type TaxonomyClass,
  type TaxonomyThresholds,
} from '../../../src/domain/taxonomy.ts';
import { C3Error } from '../../../src/shared/errors.ts';

type Returns = readonly (readonly (number | null)[])[];

function bucket(
  id: number,
  returns: Returns,
  more: { terminal?: boolean; original?: number; message?: number | null; fullReturn?: number } = {},
): TaxonomyBucket {
  return {
    id,
    message: more.message ?? null,
    role: 'reasoner',
    question: `question ${id}`,
    terminal: more.terminal ?? false,
    fullReturn: more.fullReturn ?? 1,
    alternatives: returns.map((one, index) => ({
      message: 100 * id + index,
      original: index === more.original,
      returns: one,
      evaluatorCalls: one.length,
    })),
  };
}

/** The four classes of buckets, without what chance gives. */
function classifyBuckets(
  buckets: readonly TaxonomyBucket[],
  thresholds: TaxonomyThresholds = TAXONOMY_THRESHOLDS,
): Omit<TaxonomyClass, 'chance' | 'saved'>[] {
  const classified = buckets.map((one) => ({ bucket: one, verdict: classifyStudy(studyBucket(one), thresholds) }));
  return TAXONOMY_CLASSES.map((name) => {
    const cases = listCases(name, classified);
    return { name, count: cases.length, cases };
  });
}

/** The class of a single bucket, or null. */
function classOf(returns: Returns, more: Parameters<typeof bucket>[2] = {}): string | null {
  const found = classifyBuckets([bucket(1, returns, more)]).filter((one) => one.count > 0);
  assert.ok(found.length <= 1);
  return found[0]?.name ?? null;
}
const caseOf = (
  classes: readonly Omit<TaxonomyClass, 'chance' | 'saved'>[],
  name: string,
): TaxonomyClass['cases'][number] | undefined => classes.find((one) => one.name === name)?.cases[0];
const terminal = { terminal: true };

describe('the four classes', () => {
  it('are in their order, empty ones too', () => {
    assert.deepEqual(
      classifyBuckets([]),
      TAXONOMY_CLASSES.map((name) => ({ name, count: 0, cases: [] })),
    );
    const classes = classifyBuckets([
      bucket(1, [
        [0.6, 0.6],
        [0.6, 0.6],
      ]),
      bucket(2, [[0], [1]], terminal),
      bucket(3, [
        [0, 0],
        [0, 0],
      ]),
      bucket(4, [
        [0, 1, 0, 1],
        [1, 0, 1, 0],
      ]),
      bucket(5, [[1], [0]], terminal),
      bucket(
        6,
        [
          [0, 0],
          [0, 0],
        ],
        terminal,
      ),
    ]);
    assert.deepEqual(
      classes.map(({ name, count, cases }) => [name, count, cases.map((one) => one.bucket)]),
      [
        ['Successful Credit Shift', 1, [2]],
        ['Evaluator Ambiguity', 2, [1, 6]],
        ['Misleading Plan', 1, [3]],
        ['Over-Coupling', 1, [4]],
      ],
    );
  });

  it('Successful Credit Shift: best - real > 0.2, by the marked original or the first', () => {
    assert.equal(classOf([[0], [1]], terminal), 'Successful Credit Shift');
    assert.equal(classOf([[1], [0]], terminal), null);
    assert.equal(classOf([[1], [0]], { terminal: true, original: 1 }), 'Successful Credit Shift');
    assert.equal(classOf([[0.6], [0.81]], terminal), 'Successful Credit Shift');
    // 0.8 - 0.6 is 0.20000000000000007 in floating point, and still not more than 0.2.
    assert.equal(classOf([[0.6], [0.8]], terminal), null);
    // Of a message that others follow, one replay cannot both choose the best and say how good it is.
    assert.equal(classOf([[0.6], [0.81]]), null);
    // The real action was never measured: no shift can be claimed.
    assert.equal(classOf([[null], [0], [1]], terminal), null);
  });

  it('Successful Credit Shift: the best is chosen on one half of its replays and compared on the other', () => {
    // The best of the first half returns as little as the real one in the second, and the reverse.
    assert.equal(
      classOf([
        [0.5, 0.5],
        [1, 0.5],
        [0.5, 1],
      ]),
      'Over-Coupling',
    );
    assert.equal(
      classOf([
        [0.5, 0.5, 0.5, 0.5],
        [1, 0.9, 1, 0.9],
        [0.4, 0.5, 0.4, 0.5],
      ]),
      'Successful Credit Shift',
    );
    // A masked replay keeps the others in their halves: 1 and 0.9 are one half, and the real one's 0 is the other.
    assert.equal(
      classOf([
        [null, 0, null, null],
        [1, null, 0.9, 0.2],
      ]),
      null,
    );
  });

  it('Evaluator Ambiguity: all returns alike', () => {
    assert.equal(classOf([[0.5], [0.5], [0.5]]), 'Evaluator Ambiguity');
    assert.equal(classOf([[0], [0]], terminal), 'Evaluator Ambiguity');
    assert.equal(classOf([[0.7], [0.709]]), 'Evaluator Ambiguity');
    assert.equal(classOf([[0.7], [0.71]]), null);
    assert.equal(classOf([[0.8, null], [0.8], [null]]), 'Evaluator Ambiguity');
    // Equal means of unlike returns say nothing about the evaluator.
    assert.equal(
      classOf([
        [1, 0],
        [0, 1],
      ]),
      'Over-Coupling',
    );
  });

  it('all succeeded is no failure: no class has it, whatever the thresholds, and it is not unclassified', () => {
    const nameOf = (
      returns: Returns,
      thresholds = TAXONOMY_THRESHOLDS,
      more: Parameters<typeof bucket>[2] = {},
    ): string => classifyStudy(studyBucket(bucket(1, returns, more)), thresholds).name;
    for (const returns of [
      [[1], [1], [1]],
      [
        [1, 1],
        [1, null],
      ],
      [[1], [null]],
      [[1, 1, 1]],
    ]) {
      assert.equal(nameOf(returns), 'all succeeded');
      assert.equal(nameOf(returns, { shift: 0, ambiguity: 5, misleading: 5, significance: 0 }), 'all succeeded');
      assert.equal(classOf(returns), null);
    }
    // One return short of success is a case again; so is what cannot be known.
    assert.equal(
      nameOf([
        [1, 1],
        [1, 0.999],
      ]),
      'Evaluator Ambiguity',
    );
    assert.equal(nameOf([[null], [null]]), 'unclassified');
    assert.equal(nameOf([]), 'unclassified');
    // Two scored messages: a return of 1 is half of what there is to reach.
    assert.equal(nameOf([[1], [1]], TAXONOMY_THRESHOLDS, { fullReturn: 2 }), 'Evaluator Ambiguity');
    assert.equal(nameOf([[2], [2]], TAXONOMY_THRESHOLDS, { fullReturn: 2 }), 'all succeeded');
    const one = bucket(1, [
      [1, 1],
      [1, 1],
    ]);
    assert.match(
      describeEvidence(one, classifyStudy(studyBucket(one))),
      /^every measured return reaches 1; n=4 returns of 2 alternatives/u,
    );
  });

  it('Misleading Plan: everything downstream fails', () => {
    assert.equal(
      classOf([
        [0, 0],
        [0, 0],
      ]),
      'Misleading Plan',
    );
    assert.equal(
      classOf([
        [0, 0, 0],
        [0, 1, 0],
      ]),
      'Misleading Plan',
    );
    assert.equal(
      classOf([
        [0, 0],
        [0.5, 0.5],
      ]),
      'Successful Credit Shift',
    );
    // The last speaker has no plan to mislead with.
    assert.equal(classOf([[0.4], [0.1]], terminal), null);
    assert.equal(classOf([[0.1], [0.4]], terminal), 'Successful Credit Shift');
  });

  it('Over-Coupling: the spread within alternatives dominates and the difference is not significant', () => {
    assert.equal(
      classOf([
        [1, 0, 1, 1],
        [0, 1, 0, 1],
        [1, 0, 0, 0],
      ]),
      'Over-Coupling',
    );
    // One alternative without a second return hides its spread.
    assert.equal(classOf([[1, 0, 1, 1], [0, 1, 0, 1], [1]], { original: 2 }), null);
    // Within 0.196, between 0.125, but 48 replays settle that they differ: F(1,46) = 3 / 0.196 = 15.
    const many = (ones: number): number[] => Array.from({ length: 24 }, (_, index) => (index < ones ? 1 : 0));
    assert.equal(classOf([many(18), many(6)]), null);
    assert.equal(
      classOf([
        [1, 0.9],
        [0.2, 0.9],
      ]),
      'Over-Coupling',
    );
    // Within 0.02, between 0.08, F(1,2) = 8 and p = 0.11: too few replays to decide, so nothing is claimed.
    assert.equal(
      classOf([
        [1, 0.8],
        [0.4, 0.6],
      ]),
      null,
    );
  });

  it('leaves a bucket without a comparison alone', () => {
    for (const returns of [[], [[0, 0]], [[null], [null]], [[0], [null]], [[], [1]]]) {
      assert.equal(classOf(returns), null);
    }
  });

  it('takes other thresholds', () => {
    const returns = [[0.6], [0.8]];
    const [shift] = classifyBuckets([bucket(1, returns, terminal)], { ...TAXONOMY_THRESHOLDS, shift: 0.1 });
    assert.equal(shift?.count, 1);
    const [, , misleading] = classifyBuckets([bucket(1, returns)], { ...TAXONOMY_THRESHOLDS, misleading: 0.9 });
    assert.equal(misleading?.count, 1);
    const [, ambiguity] = classifyBuckets([bucket(1, returns)], { ...TAXONOMY_THRESHOLDS, ambiguity: 0.3 });
    assert.equal(ambiguity?.count, 1);
    // F(2,9) = 0.9, p = 0.44: a level above that distinguishes these alternatives.
    const alike = bucket(1, [
      [1, 0, 1, 1],
      [0, 1, 0, 1],
      [1, 0, 0, 0],
    ]);
    const coupled = (significance: number): unknown =>
      classifyBuckets([alike], { ...TAXONOMY_THRESHOLDS, significance })[3]?.count;
    assert.deepEqual([coupled(0.05), coupled(0.43), coupled(0.45)], [1, 1, 0]);
  });

  it('says of an unclassified bucket which rules it missed, and by how much', () => {
    const said = (returns: Returns): string => {
      const one = bucket(1, returns, terminal);
      const verdict = classifyStudy(studyBucket(one));
      assert.equal(verdict.name, 'unclassified');
      return describeEvidence(one, verdict);
    };
    assert.match(said([]), /^no alternative has a return; n=0 returns of 0 alternatives/);
    assert.match(said([[0, 1], [null]]), /^only one alternative has a return; n=2 returns of 2 alternatives, 1 masked/);
    assert.match(said([[1], [0]]), /^best - real = 0 is not > 0\.2, and not every alternative has two returns; /);
    assert.match(
      said([
        [1, 1],
        [0, 0.1],
      ]),
      /^best - real = 0 is not > 0\.2, and variance within alternatives 0\.003 is not > variance of their means 0\.451; /,
    );
    const many = (ones: number): number[] => Array.from({ length: 24 }, (_, index) => (index < ones ? 1 : 0));
    assert.match(
      said([many(18), many(6)]),
      /^best - real = 0 is not > 0\.2, and the alternatives differ, F\(1,46\)=15\.333, p=0 < 0\.05; /,
    );
  });

  it('says which classes the returns cannot decide, as those of whole episodes, which continue a message once', () => {
    const unmeasured = (...all: readonly TaxonomyBucket[]): unknown => findUnmeasured(all.map(studyBucket));
    const [episodes, alone] = [bucket(1, [[0], [1]]), bucket(2, [[1]])];
    assert.deepEqual(unmeasured(episodes, alone), { alone: 1, classes: ['Successful Credit Shift', 'Over-Coupling'] });
    // A message that ends the episode has one return, and needs no second.
    assert.deepEqual(unmeasured(bucket(3, [[0], [1]], terminal)), { alone: 0, classes: ['Over-Coupling'] });
    const replayed = bucket(4, [
      [0, 1],
      [1, 1],
    ]);
    assert.deepEqual(unmeasured(episodes, replayed), { alone: 0, classes: [] });
    assert.deepEqual(unmeasured(alone, bucket(5, [[null], [1]])), {
      alone: 2,
      classes: ['Misleading Plan', 'Evaluator Ambiguity', 'Successful Credit Shift', 'Over-Coupling'],
    });
  });

  it('counts one return, alternative and call as one', () => {
    const one = bucket(1, [[0]]);
    assert.equal(
      describeEvidence(one, classifyStudy(studyBucket(one))),
      'only one alternative has a return; n=1 return of 1 alternative, 1 evaluator call; mean return 0 (real).',
    );
  });

  it('refuses returns that are no numbers', () =>
    assert.throws(() => classifyBuckets([bucket(1, [[Number.NaN], [1]])]), C3Error));
});

describe('evidence', () => {
  it('carries the deciding numbers, n, cost and the interval', () => {
    const found = caseOf(
      classifyBuckets([bucket(1, [[0, 0, 0, null], [1, 1, 0, 1], [null]])]),
      'Successful Credit Shift',
    );
    assert.deepEqual(found, {
      bucket: 1,
      message: 100,
      role: 'reasoner',
      question: 'question 1',
      // Newcombe for 3 of 4 against 0 of 3, worked from Wilson's 0.3006 to 0.9544 and 0 to 0.5615.
      evidence:
        'best 0.75 (n=4) - real 0 (n=3) = 0.75 > 0.2, the best chosen on other replays, 95 % interval 0.031 to 0.954 (newcombe); ' +
        'n=7 returns of 3 alternatives, 2 masked, 9 evaluator calls; mean returns 0 (real), 0.75, not measured.',
    });
  });

  it('gives the analysis of variance of Over-Coupling (values of scipy 1.17)', () => {
    const found = caseOf(
      classifyBuckets([
        bucket(1, [
          [1, 0, 1, 1],
          [0, 1, 0, 1],
          [1, 0, 0, 0],
        ]),
      ]),
      'Over-Coupling',
    );
    assert.match(
      found?.evidence ?? '',
      /within alternatives 0\.278 > variance of their means 0\.063, F\(2,9\)=0\.9, p=0\.44;/,
    );
  });

  it('opens the clicked message, else the original, else the first', () => {
    const at = (one: TaxonomyBucket): number | undefined =>
      caseOf(classifyBuckets([one]), 'Evaluator Ambiguity')?.message;
    assert.equal(at(bucket(2, [[0.5], [0.5]], { message: 7, original: 1 })), 7);
    assert.equal(at(bucket(2, [[0.5], [0.5]], { original: 1 })), 201);
    assert.equal(at(bucket(2, [[0.5], [0.5]])), 200);
  });

  it('stays short for many alternatives', () => {
    const found = caseOf(
      classifyBuckets([
        bucket(
          1,
          Array.from({ length: 500 }, () => [0.5]),
        ),
      ]),
      'Evaluator Ambiguity',
    );
    assert.match(
      found?.evidence ?? '',
      /^all returns lie within 0 < 0\.01; n=500 returns of 500 alternatives, 500 evaluator calls; mean returns 0\.5 \(real\), (0\.5, ){10}0\.5 and 488 more\.$/,
    );
  });
});
