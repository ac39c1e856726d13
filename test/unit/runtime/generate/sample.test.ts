import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sampleToken, type TokenSampling } from '../../../../src/runtime/generate/sample.ts';
import { item, range, testStream, total } from '../nd.ts';

const ALL: TokenSampling = { temperature: 1, topP: 1, topK: 0 };
const logs = (...probabilities: number[]): Float32Array => Float32Array.from(probabilities, Math.log);

/**
 * Ids that a truncation keeps, by the definition: the k most likely, then the shortest prefix of them with mass topP.
 */
function keptBySorting(row: Float32Array, { topK, topP }: TokenSampling): number[] {
  const ranked = range(row.length).sort((a, b) => item(row, b) - item(row, a) || a - b);
  const likely = topK === 0 ? ranked : ranked.slice(0, topK);
  const mass = (ids: readonly number[]): number => total(ids.map((id) => Math.exp(item(row, id))));
  const length =
    range(likely.length).find((count) => mass(likely.slice(0, count + 1)) >= topP * mass(likely)) ?? likely.length - 1;
  return likely.slice(0, length + 1).sort((a, b) => a - b);
}

/** The first kept token, in token order, at which the cumulative mass passes the uniform number's share. */
function byCumulativeMass(row: Float32Array, sampling: TokenSampling, uniform: number): number | undefined {
  const kept = keptBySorting(row, sampling);
  const masses = kept.map((id) => Math.exp(item(row, id)));
  return kept.find((_, index) => total(masses.slice(0, index + 1)) > uniform * total(masses));
}

function assertPicked(row: Float32Array, sampling: TokenSampling, uniform: number): void {
  assert.equal(
    sampleToken(row, sampling, uniform),
    byCumulativeMass(row, sampling, uniform),
    JSON.stringify({ row: [...row], sampling, uniform }),
  );
}

describe('sampleToken', () => {
  it('inverts the cumulative distribution in token order', () => {
    const row = logs(0.1, 0.2, 0.3, 0.4);
    const picks = [0, 0.0999, 0.1001, 0.2999, 0.3001, 0.5999, 0.6001, 0.9999].map((uniform) =>
      sampleToken(row, ALL, uniform),
    );
    assert.deepEqual(picks, [0, 0, 1, 1, 2, 2, 3, 3]);
  });

  it('gives the boundary between two tokens to the second: each owns [low, high)', () => {
    // exp of the float32 log 1/2 is just below 1/2.
    assert.deepEqual(
      [0, 0.4999, 0.5].map((uniform) => sampleToken(logs(0.5, 0.5), ALL, uniform)),
      [0, 0, 1],
    );
  });

  it('takes the last token where rounding leaves the sum below the uniform number', () => {
    const row = logs(0.3, 0.3, 0.3999);
    assert.deepEqual(
      [0.9998, 1 - 2 ** -53].map((uniform) => sampleToken(row, ALL, uniform)),
      [2, 2],
    );
    assert.equal(sampleToken(Float32Array.of(...row, -Infinity), ALL, 1 - 2 ** -53), 2);
  });

  it('equals brute force for every truncation', () => {
    const stream = testStream('brute force');
    for (const trial of range(400)) {
      const weights = range(9).map((token) => 0.05 + stream.uniform(100 * trial + token));
      const row = Float32Array.from(weights, (weight) => Math.log(weight / total(weights)));
      const sampling = { temperature: 1, topK: trial % 11, topP: [1, 0.95, 0.7, 0.3, 0][trial % 5] ?? 1 };
      for (const draw of range(6)) {
        const uniform = stream.uniform(100 * trial + 20 + draw);
        assertPicked(row, sampling, uniform);
      }
    }
  });

  it('equals brute force where many tokens are equally likely, and some are impossible', () => {
    const stream = testStream('ties');
    for (const trial of range(300)) {
      const drawn = range(40).map((token) => Math.floor(5 * stream.uniform(1000 * trial + token)));
      const row = Float32Array.from(drawn, (level) => Math.log(level / total(drawn)));
      const sampling = {
        temperature: 1,
        topK: [0, 1, 2, 7, 19, 39, 40, 41][trial % 8] ?? 0,
        topP: [1, 0.99, 0.8, 0.5, 0.1, 0][trial % 6] ?? 1,
      };
      for (const draw of range(6)) {
        const uniform = stream.uniform(1000 * trial + 100 + draw);
        assertPicked(row, sampling, uniform);
      }
    }
  });

  const reached = (row: Float32Array, sampling: TokenSampling): number[] =>
    [...new Set(range(1000).map((step) => sampleToken(row, sampling, step / 1000)))].sort((a, b) => a - b);

  it('keeps the topK most likely, ties to the lower id', () => {
    const row = logs(0.2, 0.1, 0.2, 0.3, 0.2);
    assert.deepEqual(reached(row, { ...ALL, topK: 1 }), [3]);
    assert.deepEqual(reached(row, { ...ALL, topK: 3 }), [0, 2, 3]);
    assert.deepEqual(reached(row, { ...ALL, topK: 5 }), [0, 1, 2, 3, 4]);
    assert.deepEqual(reached(row, { ...ALL, topK: 99 }), [0, 1, 2, 3, 4]);
  });

  it('keeps the shortest prefix whose mass reaches topP', () => {
    const row = logs(0.1, 0.2, 0.3, 0.4);
    assert.deepEqual(reached(row, { ...ALL, topP: 0.39 }), [3]);
    assert.deepEqual(reached(row, { ...ALL, topP: 0.41 }), [2, 3]);
    assert.deepEqual(reached(row, { ...ALL, topP: 0.71 }), [1, 2, 3]);
    assert.deepEqual(reached(row, { ...ALL, topP: 0 }), [3]);
    // Of the two most likely, 0.4 is 57 % of the mass: topP counts within topK.
    assert.deepEqual(reached(row, { temperature: 1, topK: 2, topP: 0.5 }), [3]);
    assert.deepEqual(reached(row, { temperature: 1, topK: 2, topP: 0.6 }), [2, 3]);
  });

  it('never picks a token without probability', () => {
    const row = Float32Array.from([-Infinity, Math.log(0.5), -Infinity, Math.log(0.5), -Infinity]);
    assert.deepEqual(reached(row, ALL), [1, 3]);
    assert.equal(sampleToken(row, ALL, 1 - 2 ** -53), 3);
    assert.deepEqual(reached(row, { ...ALL, topK: 4 }), [1, 3]);
  });

  it('greedy takes the largest, ties to the lowest id, and leaves the uniform number aside', () => {
    const greedy = { ...ALL, temperature: 0 };
    for (const uniform of [0, 0.999]) {
      assert.equal(sampleToken(logs(0.2, 0.4, 0.4), greedy, uniform), 1);
      assert.equal(sampleToken(logs(0.5, 0.25, 0.25), greedy, uniform), 0);
      assert.equal(sampleToken(Float32Array.from([-Infinity, -80]), greedy, uniform), 1);
    }
  });

  /** Pearson's statistic of 20,000 draws against the probabilities that they should have. */
  function chiSquare(name: string, row: Float32Array, sampling: TokenSampling, expected: readonly number[]): number {
    const stream = testStream(name);
    const draws = 20_000;
    const counts = new Float64Array(row.length);
    for (const position of range(draws)) {
      const token = sampleToken(row, sampling, stream.uniform(position));
      counts[token] = item(counts, token) + 1;
    }
    return total(
      expected.map((probability, token) =>
        probability === 0
          ? 1e9 * item(counts, token)
          : (item(counts, token) - draws * probability) ** 2 / (draws * probability),
      ),
    );
  }

  it('frequencies follow the probabilities: chi-square', () => {
    const probabilities = [0.02, 0.38, 0.1, 0.25, 0.05, 0.2];
    const statistic = chiSquare('frequencies', logs(...probabilities), ALL, probabilities);
    // 5 degrees of freedom: the 99.9 % quantile.
    assert.ok(statistic < 20.5, String(statistic));
  });

  it('frequencies of what a truncation keeps are those probabilities over their sum: chi-square', () => {
    const row = logs(0.02, 0.38, 0.1, 0.25, 0.05, 0.2);
    const statistic = chiSquare(
      'truncated',
      row,
      { temperature: 1, topK: 4, topP: 1 },
      [0, 0.38, 0.1, 0.25, 0, 0.2].map((probability) => probability / 0.93),
    );
    // 3 degrees of freedom: the 99.9 % quantile.
    assert.ok(statistic < 16.3, String(statistic));
  });
});
