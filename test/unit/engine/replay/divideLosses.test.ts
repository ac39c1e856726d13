import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  divideLosses,
  listLossDivisions,
  type ReadEpisode,
  NO_MARKS,
} from '../../../../src/engine/replay/divideLosses.ts';

/** An episode in which a plan, an answer and a second answer lost so much. */
const episode = (
  number: number,
  losses: readonly number[],
  problem: Partial<ReadEpisode['problem']> = {},
  message: number | null = null,
): ReadEpisode => ({
  problem: { uidSha: String(number), level: 1, source: 'own', ...problem },
  episode: { messages: ['plan', 'answer', 'answer'].map((role, index) => ({ id: 10 * number + index, role })) },
  losses,
  found: { message },
});

const READ = [
  episode(1, [0.5, 0.25, 0], { level: 2 }, 10),
  episode(2, [0.5, -0.25, 0.25], { level: null }, 22),
  episode(3, [0.25, 0.25, 0.25], { level: 2 }),
  episode(4, [0.5, 0, 0.25], {}, 40),
];
/** Names with shares in percent and named episodes. */
const shown = (parts: ReturnType<typeof divideLosses>['parts']) =>
  parts.map(({ name, share, episodes }) => [name, Math.round(100 * share.value), episodes]);

test('losses are divided by role, turn and level: the same sum, and the same named episodes', () => {
  const { withinReach, parts } = divideLosses(READ, 8, 'role', NO_MARKS);
  assert.equal(withinReach.value, (8 * 2.75) / 4);
  assert.deepEqual(shown(parts), [
    ['plan', 64, 2],
    ['answer', 36, 1],
  ]);
  const divisions = listLossDivisions(READ, 8, NO_MARKS);
  assert.deepEqual(
    divisions.map((division) => [division.by, shown(division.parts)]),
    [
      [
        'turn',
        [
          ['plan, message 1', 64, 2],
          ['answer, message 2', 27, 1],
          ['answer, message 1', 9, 0],
        ],
      ],
      [
        'level',
        [
          ['level 2', 55, 1],
          ['level 1', 27, 1],
          ['no level', 18, 1],
        ],
      ],
    ],
  );
  for (const division of [{ parts }, ...divisions]) {
    assert.ok(Math.abs(division.parts.reduce((sum, { share }) => sum + share.value, 0) - 1) < 1e-9);
    assert.ok(division.parts.every(({ share: { value, low, high } }) => (low ?? NaN) < value && value < (high ?? NaN)));
  }
});

test('a division is left out where all is of one part, and a part may have won some back', () => {
  const read = [
    episode(1, [0.5, -0.25], { source: 'a' }),
    episode(2, [0.75, -0.125], { source: 'b' }),
    episode(3, [0.5, 0], { source: 'a' }),
    episode(4, [0.75, -0.25], { source: 'b' }),
  ];
  // Every role says one message that was sampled, so that turns are roles.
  assert.deepEqual(
    listLossDivisions(read, 4, NO_MARKS).map(({ by }) => by),
    ['source'],
  );
  assert.deepEqual(shown(divideLosses(read, 4, 'role', NO_MARKS).parts), [
    ['plan', 133, 0],
    ['answer', -33, 0],
  ]);
});

test('nothing is divided where shares are not known: nothing read, nothing lost, or one problem alone', () => {
  for (const read of [
    [],
    [episode(1, [0, 0, 0]), episode(2, [0, 0, 0], { level: 3 })],
    [0.5, 0.25, 0.5, 0.25].map((loss, level) => episode(1, [loss, 0, 0], { level })),
  ]) {
    assert.deepEqual([divideLosses(read, 2, 'role', NO_MARKS).parts, listLossDivisions(read, 2, NO_MARKS)], [[], []]);
  }
});

test('losses are divided by the class of the problem and by the label of the message', () => {
  const classes = new Map([
    ['1', 'Misleading Plan'],
    ['2', 'Misleading Plan'],
    ['4', 'Over-Coupling'],
  ]);
  const labels = new Map([
    [10, 'slip <b>\n'],
    [40, 'slip <b>\n'],
    [41, 'x'.repeat(100)],
  ]);
  const divisions = listLossDivisions(READ, 8, { classes, labels });
  assert.deepEqual(
    divisions.map(({ by }) => by),
    ['turn', 'class', 'label', 'level'],
  );
  assert.deepEqual(shown(divisions[1]?.parts ?? []), [
    ['Misleading Plan', 45, 2],
    ['not classified', 27, 0],
    ['Over-Coupling', 27, 1],
  ]);
  assert.deepEqual(shown(divisions[2]?.parts ?? []), [
    ['no label', 64, 1],
    ['slip <b>⏎', 36, 2],
    [`${'x'.repeat(79)}…`, 0, 0],
  ]);
});

test('a division has at most twelve parts: those of the fewest episodes are one, whatever they lost', () => {
  const read = Array.from({ length: 60 }, (_, number) =>
    // Twenty sources: 0 to 9 have four episodes each, the others two, and lose the most.
    episode(number + 1, [number < 40 ? 0.25 : 0.75, 0, 0], {
      source: `s${number < 40 ? number % 10 : (number % 10) + 10}`,
    }),
  );
  const { parts } = divideLosses(read, 60, 'source', NO_MARKS);
  assert.equal(parts.length, 12);
  assert.deepEqual(parts[0]?.name, '9 others');
  assert.ok(Math.abs(parts.reduce((sum, { share }) => sum + share.value, 0) - 1) < 1e-9);
  assert.deepEqual(divideLosses(read.slice(0, 40), 40, 'source', NO_MARKS).parts.length, 10);
});
