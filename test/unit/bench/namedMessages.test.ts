/** What replacing messages saves, by hand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeNamedFigures, type Named } from '../../../src/bench/experiments/blame/namedMessages.ts';

test('each rule replaces its message, those that are alike in equal parts, and is compared episode by episode', () => {
  const named: Named[] = [
    // Fresh messages save 80 % at the named place and 20 % at the other, which is longer, last and less likely.
    {
      place: 0,
      lengths: [4, 9],
      saved: [
        [1, 0.6],
        [0.4, 0],
      ],
      replayed: [[0, 1], [0.5]],
      likelihoods: [-0.1, -0.4],
    },
    {
      place: 1,
      lengths: [4, 4],
      saved: [
        [0, 0.6],
        [1, 0],
      ],
      replayed: [[0.1], [0.9]],
      likelihoods: [-0.7, -0.4],
    },
  ];
  const verdicts = ['message', 'message', 'rare', 'undecided'] as const;
  const figures = makeNamedFigures(
    5,
    verdicts.map((verdict) => ({ found: { verdict } })),
    named,
  );
  const values = Object.fromEntries(figures.map(({ name, value }) => [name, value]));
  assert.deepEqual(
    [
      'lost episodes',
      'of them a message is named in',
      'of them several messages are named in',
      'of them rarely solved',
      'of them better than the team on average',
      'of them undecided',
      'saved by replacing the named message',
      'saved by replacing a random message',
      'saved by replacing the longest message',
      'saved by replacing the last message',
      'saved by replacing the least likely message',
      'saved by replacing the lowest credit of 8 replays each',
      'saved by replacing the best message, at least',
      'saved by replacing the best message, at most',
    ].map((name) => values[name]),
    // (80 + 50) / 2; (50 + 40) / 2; (20 + 40) / 2; (20 + 50) / 2; (20 + 30) / 2; (50 + 50) / 2. The best place of
    // the first episode by each half is the same, 60 and 100 by the other half; that of the second is 0 by the other.
    [5, 40, 0, 20, 0, 20, 65, 45, 30, 35, 25, 50, 40, 65],
  );
  // Differences of 60 and 0 from the last message: 30, with a t of 12.706 at one degree of freedom times 30.
  const at = figures.findIndex(({ name }) => name === 'saved by replacing the last message');
  assert.deepEqual([figures[at + 1]?.value, figures[at + 2]?.value], [-351.19, 411.19]);
});

test('nothing is saved by rules for a team in which no message is named', () => {
  const figures = makeNamedFigures(4, [{ found: { verdict: 'several' } }], []);
  assert.deepEqual(
    figures.map(({ value }) => value).filter((value) => value !== null),
    // Lost episodes, and the shares with one message, with several, rarely solved, better, and undecided.
    [4, 0, 25, 0, 0, 0],
  );
});
