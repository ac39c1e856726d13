/**
 * The table of estimators: each is described in one place, and what is not in it is refused or shown by its own name.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CONFIGURABLE_ESTIMATORS,
  chooseContextEstimator,
  CREDIT_ESTIMATORS,
  ESTIMATORS,
  requireEstimator,
  findEstimator,
  type CreditEstimator,
} from '../../../src/credit/estimators.ts';
import { computeCredits } from '../../../src/diagnostics/bucket.ts';
import { measureFidelity, measurePublishedFidelity } from '../../../src/diagnostics/fidelity.ts';
import { measureWithinContextVariance } from '../../../src/diagnostics/variance.ts';
import { estimatorName } from '../../../src/report/parts.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { bucket, IRREGULAR } from '../diagnostics/buckets.ts';

const UNKNOWN = JSON.parse('"full_meen"') as CreditEstimator;
const refused = (error: unknown): boolean =>
  error instanceof C3Error &&
  error.kind === 'input' &&
  /"full_meen" is unknown; did you mean full_mean\?$/u.test(error.message);

describe('the table of estimators', () => {
  it('names each once, with a label and a sentence', () => {
    assert.equal(new Set(CREDIT_ESTIMATORS).size, CREDIT_ESTIMATORS.length);
    for (const { name, label, words } of ESTIMATORS) {
      assert.match(name, /^[a-z][a-z_]*$/u);
      assert.notEqual(label.trim(), '');
      assert.match(words, /^[A-Z].*\.$/u);
      assert.equal(findEstimator(name)?.words, words);
    }
  });

  it('is what a configuration may name', () => {
    const given = CONFIGURABLE_ESTIMATORS.map(
      ({ name }) => readConfig('', 'test', [`credit.estimator=${name}`]).credit.estimator,
    );
    assert.deepEqual(
      given,
      CONFIGURABLE_ESTIMATORS.map(({ name }) => name),
    );
    for (const name of ['loo', 'loo_two_level', 'full_mean', 'value_assisted']) {
      assert.ok(
        given.some((one) => one === name),
        name,
      );
    }
    assert.throws(
      () => readConfig('', 'test', ['credit.estimator=mappo']),
      /must be one of loo, loo_two_level, full_mean, value_assisted/u,
    );
  });

  it('says how diagnostics of single contexts have the credit of each', () => {
    const families = {
      loo: 'loo',
      loo_two_level: 'loo',
      full_mean: 'full_mean',
      magrpo: 'full_mean',
      magrpo_rloo: 'full_mean',
      mappo: 'mappo',
      value_assisted: 'loo',
      value_only: 'value_only',
    };
    for (const [name, family] of Object.entries(families)) {
      assert.equal(chooseContextEstimator(requireEstimator(name).name), family, name);
    }
    const stored = bucket({ returns: [[1], [0]] });
    const alternatives = stored.alternatives.map((alternative, index) => ({ ...alternative, credit: index - 0.25 }));
    assert.deepEqual(computeCredits({ ...stored, alternatives }, 'mappo'), [-0.25, 0.75]);
    assert.deepEqual(computeCredits({ ...stored, alternatives }, 'loo'), [1, -1]);
  });
});

describe('an estimator that is not in the table', () => {
  it('is refused in one sentence, and never diagnosed as another', () => {
    assert.equal(findEstimator(UNKNOWN), null);
    assert.throws(() => requireEstimator(UNKNOWN), refused);
    assert.throws(() => measureFidelity(IRREGULAR, UNKNOWN), refused);
    assert.throws(() => measurePublishedFidelity(IRREGULAR, UNKNOWN, true), refused);
    assert.throws(() => measureWithinContextVariance(IRREGULAR, UNKNOWN), refused);
    assert.throws(() => chooseContextEstimator(UNKNOWN), refused);
    assert.throws(
      () => requireEstimator('x'.repeat(10_000)),
      (error) => error instanceof C3Error && error.message.length < 250,
    );
  });

  it('is shown by its own name where it is only shown', () => {
    assert.equal(estimatorName({ estimator: 'shapley<b>' }), 'shapley&lt;b&gt;');
    assert.deepEqual(
      ['loo', 'mappo', 'remove'].map((estimator) => estimatorName({ estimator })),
      ['replace (leave-one-out)', 'mappo', 'remove (empty message)'],
    );
  });
});
