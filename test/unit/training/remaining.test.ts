import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configSchema } from '../../../src/training/config/config.ts';
import { Remaining, countRunWork, type ExpectedPace, type RunWork } from '../../../src/training/measure/remaining.ts';

const KNOWN: ExpectedPace = { episode: 1, step: 10, known: true };

/** A run on a clock of its own. */
function watched(
  work: RunWork,
  expected: ExpectedPace,
): { readonly remaining: Remaining; readonly pass: (seconds: number) => void } {
  let now = 1000;
  return {
    remaining: new Remaining(work, expected, () => now),
    pass: (seconds) => {
      now += seconds;
    },
  };
}

describe('what remains of a run', () => {
  it('counts both evaluations, or one where nothing is trained or nothing is evaluated before', () => {
    const work = (value: object): RunWork => countRunWork(configSchema.parse(value), 10);
    assert.deepEqual(work({ steps: 4 }), { episodes: 40, steps: 4 });
    assert.deepEqual(work({ steps: 4, evaluation: { before: false, samples: 3 } }), { episodes: 40, steps: 4 });
    assert.deepEqual(work({ steps: 0 }), { episodes: 20, steps: 0 });
    assert.deepEqual(countRunWork(configSchema.parse({ steps: 4 }), 10, 3), { episodes: 40, steps: 1 });
    // After steps 2 and 4, before and after: four evaluations of twenty episodes. The one after step 2 is behind a run
    // that has taken 3.
    const every = configSchema.parse({ steps: 5, evaluation: { every: 2 } });
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5].map((finished) => countRunWork(every, 10, finished).episodes),
      [80, 80, 80, 60, 60, 40],
    );
  });

  it('says nothing before anything is known, then scales the rest by the first measurement', () => {
    const { remaining, pass } = watched({ episodes: 4, steps: 3 }, { ...KNOWN, known: false });
    assert.equal(remaining.seconds(), null);
    pass(2);
    remaining.evaluated(1);
    // Twice as slow as the relation assumed: 3 episodes of 2 s and 3 steps of 20 s.
    assert.equal(remaining.seconds(), 66);
  });

  it('begins with what was expected and counts down', () => {
    const { remaining, pass } = watched({ episodes: 4, steps: 3 }, KNOWN);
    assert.equal(remaining.seconds(), 34);
    for (const seconds of [1, 1, 1, 1]) {
      pass(seconds);
      remaining.evaluated(1);
    }
    remaining.begin();
    assert.equal(remaining.seconds(), 30);
    for (const left of [20, 10, 0]) {
      remaining.begin();
      pass(10);
      remaining.trained();
      assert.equal(remaining.seconds(), left);
    }
  });

  it('is not misled by a slow first step, nor by one slow step later', () => {
    const { remaining, pass } = watched({ episodes: 0, steps: 20 }, { ...KNOWN, known: false });
    const said: number[] = [];
    for (const seconds of [60, 10, 10, 10, 50, 10, 10, 10, 10, 10]) {
      remaining.begin();
      pass(seconds);
      remaining.trained();
      said.push(remaining.seconds() ?? -1);
    }
    // 16 steps of 10 s are left after the fourth, whatever the first one took.
    assert.ok(Math.abs((said[3] ?? 0) - 160) < 0.7 * 160, said.join(' '));
    // The slow fifth step moves nothing up.
    assert.ok((said[4] ?? 0) <= (said[3] ?? 0), said.join(' '));
    assert.ok(Math.abs((said[9] ?? 0) - 100) < 15, said.join(' '));
  });

  it('follows messages that grow shorter, and is never negative', () => {
    const { remaining, pass } = watched({ episodes: 0, steps: 40 }, KNOWN);
    for (let step = 0; step < 40; step++) {
      remaining.begin();
      pass(step < 20 ? 10 : 2);
      remaining.trained();
      const seconds = remaining.seconds() ?? -1;
      assert.ok(seconds >= 0);
      if (step >= 30) {
        assert.ok(seconds <= 4 * (39 - step), `${seconds} s after step ${step + 1}`);
      }
    }
    assert.equal(remaining.seconds(), 0);
  });

  it('leaves out episodes that were stored before, and counts no further than to nothing', () => {
    const { remaining, pass } = watched({ episodes: 8, steps: 0 }, KNOWN);
    remaining.skip(6);
    assert.equal(remaining.seconds(), 2);
    pass(5);
    remaining.evaluated(4);
    assert.equal(remaining.seconds(), 0);
  });
});
