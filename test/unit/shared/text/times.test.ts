import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeBasis, formatEstimate, formatRemaining, formatSpan } from '../../../../src/shared/text/times.ts';

describe('times in words', () => {
  it('spans are rounded to what an estimate deserves', () => {
    const said = [
      0, 1.4, 9.6, 12, 13, 44, 86, 90, 119, 150, 3540, 3600, 4000, 35_000, 40_000, 84_000, 86_400, 190_000, 400_000,
    ].map((seconds) => formatSpan(seconds));
    assert.deepEqual(said, [
      '1 s',
      '1 s',
      '10 s',
      '10 s',
      '15 s',
      '45 s',
      '85 s',
      '2 min',
      '2 min',
      '3 min',
      '59 min',
      '1 h',
      '1 h 10 min',
      '9 h 40 min',
      '11 h',
      '23 h',
      '1 day',
      '2 days 5 h',
      '5 days',
    ]);
  });

  it('no two neighbouring units leave a gap or say 60', () => {
    for (let seconds = 0; seconds < 500_000; seconds += seconds < 8000 ? 0.5 : 97) {
      const words = formatSpan(seconds);
      assert.match(words, /^(\d+ s|\d+ min|\d+ h( \d+ min)?|\d+ days?( \d+ h)?)$/, String(seconds));
      assert.doesNotMatch(words, /(^| )(60 min|24 h|0 min|0 h|0 s)$/, `${seconds}: ${words}`);
    }
  });

  it('what remains is unknown, nearly nothing, or about a span', () => {
    assert.deepEqual([null, 0, 3, 40, 600].map(formatRemaining), [
      '',
      'a few seconds left',
      'a few seconds left',
      'about 40 s left',
      'about 10 min left',
    ]);
  });

  it('an estimate shows its range and where it is from', () => {
    assert.equal(
      formatEstimate({ value: 130, low: 65, high: 220, basis: 'earlier-runs', runs: 3 }),
      'about 2 min (65 s to 4 min), from 3 earlier runs like it',
    );
    assert.equal(
      formatEstimate({ value: 20, low: 20, high: 21, basis: 'model', runs: 0 }),
      'about 20 s, from a short trial of the model on this machine',
    );
    assert.equal(formatEstimate(null), 'unknown');
    assert.equal(describeBasis({ basis: 'earlier-runs', runs: 1 }), 'from an earlier run like it');
  });
});
