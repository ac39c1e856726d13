import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import {
  CREDIT_ESTIMATORS,
  creditGroup,
  estimateGroup,
  type CreditEstimator,
  type CreditGroup,
} from '../../../src/credit/estimators.ts';
import { groupNormalize } from '../../../src/credit/groupNormalise.ts';
import { meanInterval } from '../../../src/credit/interval.ts';
import { creditLines } from '../../../src/engine/lines/creditLines.ts';
import { C3Error } from '../../../src/shared/errors.ts';

type Returns = readonly (readonly (number | null)[])[];

const group = (
  returns: Returns,
  more: Omit<CreditGroup, 'alternatives'> & { readonly values?: readonly number[] } = {},
): CreditGroup => ({
  alternatives: returns.map((one, index) => ({
    returns: one,
    evaluatorCalls: one.length,
    value: more.values?.[index],
  })),
  value: more.value,
  alpha: more.alpha,
});
const creditsOf = (of: CreditGroup, estimator: CreditEstimator): (number | null)[] =>
  estimateGroup(of, estimator).map((one) => one?.credit ?? null);
const close = (
  actual: readonly (number | null | undefined)[],
  expected: readonly number[],
  tolerance = 1e-12,
): void => {
  assert.equal(actual.length, expected.length);
  for (const [index, value] of expected.entries()) {
    assert.ok(
      Math.abs((actual[index] ?? NaN) - value) <= tolerance,
      `[${index}]: ${String(actual[index])} is not ${value}`,
    );
  }
};
const episodes = (...returns: number[]): CreditGroup => group(returns.map((value) => [value]));

describe('MAGRPO', () => {
  it('gives the published vectors for r = [1,0,1,1]', () => {
    close(creditsOf(episodes(1, 0, 1, 1), 'magrpo'), [0.25, -0.75, 0.25, 0.25]);
    close(creditsOf(episodes(1, 0, 1, 1), 'magrpo_rloo'), [1 / 3, -1, 1 / 3, 1 / 3]);
    close(
      groupNormalize(creditsOf(episodes(1, 0, 1, 1), 'magrpo').map(Number)),
      [0.57735, -1.73205, 0.57735, 0.57735],
      5e-6,
    );
  });

  it('takes every return for an episode: the others of the same alternative are in the baseline of leave-one-out', () => {
    const returns = [[1, 0], [1], [0, 0, 0]];
    // By hand, episode by episode: the sum is 2, six episodes; (2 - r) / 5 is the baseline of r.
    close(creditsOf(group(returns), 'magrpo_rloo'), [(1 - 1 / 5 + (0 - 2 / 5)) / 2, 1 - 1 / 5, 0 - 2 / 5]);
    close(creditsOf(group(returns), 'magrpo'), [1 / 6, 2 / 3, -1 / 3]);
    assert.notDeepEqual(creditsOf(group(returns), 'magrpo_rloo'), creditsOf(group(returns), 'loo'));
  });

  it('has credit 0 for a lone episode and none for a masked one', () => {
    for (const estimator of ['magrpo', 'magrpo_rloo'] as const) {
      assert.deepEqual(creditsOf(episodes(0.7), estimator), [0]);
      assert.deepEqual(creditsOf(group([[null], [1], [0]]), estimator)[0], null);
      assert.deepEqual(creditsOf(group([[null]]), estimator), [null]);
    }
  });
});

describe('MAPPO', () => {
  it('credits an alternative against the value of its context', () => {
    close(creditsOf(group([[1, 0], [1]], { value: 0.3 }), 'mappo'), [0.2, 0.7]);
    assert.throws(() => creditsOf(group([[1]]), 'mappo'), /needs the value/);
    assert.throws(() => creditsOf(group([[1]], { value: Number.NaN }), 'mappo'), C3Error);
  });
});

describe('value-assisted C3', () => {
  const valued = group([[1], [0], [1]], { values: [0.9, 0.2, 0.4] });

  it('goes from leave-one-out to the values as alpha goes from 0 to 1', () => {
    close(creditsOf({ ...valued, alpha: 0 }, 'value_assisted'), [0.5, -1, 0.5]);
    close(creditsOf({ ...valued, alpha: 1 }, 'value_assisted'), [1 - 0.3, 0 - 0.65, 1 - 0.55]);
    close(creditsOf(valued, 'value_assisted'), [0.7, -0.65, 0.45]);
    close(creditsOf({ ...valued, alpha: 0.25 }, 'value_assisted'), [0.55, -0.9125, 0.4875]);
    close(creditsOf(valued, 'value_only'), [0.6, -0.45, -0.15]);
  });

  it('names what it misses', () => {
    assert.throws(() => creditsOf(episodes(1, 0), 'value_only'), /Alternative 0 has no value/);
    assert.throws(() => creditsOf({ ...valued, alpha: 1.5 }, 'value_assisted'), /alpha is 1.5/);
    assert.throws(() => creditsOf(group([[1]], { values: [Infinity] }), 'value_only'), C3Error);
  });
});

describe('credits', () => {
  const returns = [
    [1, 1, 0, 1],
    [0, 0, 1, 0],
    [1, 1, 1, 0],
  ];
  const full = group(returns, { value: 0.5, values: [0.8, 0.1, 0.6], alpha: 0.5 });

  it('carry the estimate, the returns behind it and what they cost, for every estimator', () => {
    for (const estimator of CREDIT_ESTIMATORS) {
      const credits = creditGroup(full, estimator);
      close(
        credits.map((one) => one?.value),
        creditsOf(full, estimator).map(Number),
      );
      for (const credit of credits) {
        assert.ok(credit !== null);
        assert.deepEqual([credit.estimator, credit.n, credit.evaluatorCalls], [estimator, 12, 12]);
        if (estimator === 'value_only') {
          assert.deepEqual([credit.low, credit.high, credit.interval], [null, null, 'none']);
        } else {
          assert.ok((credit.low ?? NaN) < credit.value && credit.value < (credit.high ?? NaN), estimator);
        }
      }
    }
    assert.deepEqual(creditGroup(full, 'loo'), creditGroup({ alternatives: full.alternatives }, 'loo'));
    assert.deepEqual(creditGroup(full, 'full_mean'), creditGroup({ alternatives: full.alternatives }, 'full_mean'));
  });

  it('have the intervals of the difference that they are a multiple of', () => {
    const [loo] = creditGroup(full, 'loo');
    const [mean] = creditGroup(full, 'magrpo');
    const [others] = creditGroup(full, 'magrpo_rloo');
    close([mean?.low, mean?.high], [((loo?.low ?? NaN) * 8) / 12, ((loo?.high ?? NaN) * 8) / 12]);
    close([others?.low, others?.high], [((loo?.low ?? NaN) * 8) / 11, ((loo?.high ?? NaN) * 8) / 11]);
    // Wilson for 3 of 4 is [0.3006, 0.9544] (Wilson 1927, as R's binom package gives it), less the value 0.5.
    const [against] = creditGroup(full, 'mappo');
    close([against?.low, against?.high], [0.300642 - 0.5, 0.954413 - 0.5], 5e-6);
  });

  it('have the bounds of leave-one-out at alpha 0 and of the mean alone at alpha 1', () => {
    const bounds = (alpha: number): (number | null | undefined)[] =>
      creditGroup({ ...full, alpha }, 'value_assisted').flatMap((one) => [one?.low, one?.high]);
    close(
      bounds(0),
      creditGroup({ alternatives: full.alternatives }, 'loo').flatMap((one) => [one?.low ?? NaN, one?.high ?? NaN]),
    );
    const [first] = creditGroup({ ...full, alpha: 1 }, 'value_assisted');
    close([first?.low, first?.high], [0.300642 - 0.35, 0.954413 - 0.35], 5e-6);
  });
});

describe('intervals of means', () => {
  it('are Wilson for binary values, Student for others, none where neither can be', () => {
    assert.deepEqual(meanInterval([]), null);
    assert.equal(meanInterval([1, 0, 1])?.method, 'wilson');
    // t(0.975, 3) = 3.182446; the standard deviation of 1..4 is 1.290994.
    const student = meanInterval([1, 2, 3, 4]);
    close(
      [student?.value, student?.low, student?.high],
      [2.5, 2.5 - (3.182446 * 1.290994) / 2, 2.5 + (3.182446 * 1.290994) / 2],
      1e-5,
    );
    for (const values of [[0.5], [0.5, 0.5]]) {
      assert.deepEqual(meanInterval(values), { value: 0.5, low: null, high: null, n: values.length, method: 'none' });
    }
  });
});

describe('c3 credit', () => {
  const run = async (lines: readonly string[], estimator: CreditEstimator): Promise<unknown[]> => {
    const out: unknown[] = [];
    for await (const line of creditLines(Readable.from(lines.map((line) => `${line}\n`)), estimator)) {
      out.push(JSON.parse(line));
    }
    return out;
  };

  it('answers every line with baselines, credits and intervals', async () => {
    const lines = [
      '{"id": 7, "alternatives": [{"returns": [1, 0]}, {"returns": [1]}, {"returns": [null]}], "value": 0.25}',
      '',
    ];
    assert.deepEqual(await run(lines, 'mappo'), [
      {
        id: 7,
        baselines: [0.25, 0.25, null],
        credits: [0.25, 0.75, null],
        evaluatorCalls: 4,
        intervals: [
          ...creditGroup(group([[1, 0], [1], [null]], { value: 0.25 }), 'mappo').map(
            (one) => one && { value: one.value, low: one.low, high: one.high, n: one.n },
          ),
        ],
      },
    ]);
  });

  it('reads the mean outside the context for loo_two_level', async () => {
    const outside = '"outside": {"mean": 0.5, "weight": 0.5}';
    const [found] = await run(
      [`{"id": 1, "alternatives": [{"returns": [1], ${outside}}, {"returns": [0], ${outside}}]}`],
      'loo_two_level',
    );
    // 1 - (0 + 1/2) / 2, and 0 - (1 + 1/2) / 2.
    assert.deepEqual((found as { readonly credits: unknown }).credits, [0.75, -0.75]);
  });

  it('names the line of what is wrong', async () => {
    const good = '{"id": "a", "alternatives": [{"returns": [1]}], "value": 0}';
    await assert.rejects(
      run([good, '{"id": "b", "alternatives": [{"returns": [1]}]}'], 'mappo'),
      /standard input, line 2: mappo needs the value/,
    );
    await assert.rejects(run([good, good, '{"id": "b"}'], 'loo'), /standard input, line 3: alternatives/);
  });
});
