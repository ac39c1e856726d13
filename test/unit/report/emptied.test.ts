/** What a report reads of messages that were replayed with nothing in their place. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { emptiedEffects, countEmptied, type EmptiedRows } from '../../../src/report/emptied.ts';
import { emptiedSection } from '../../../src/report/runPage.ts';
import { assertBalanced, textOf } from './page.ts';

interface Made {
  readonly message: number;
  readonly problem: string;
  readonly kept: readonly (number | null)[];
  readonly gone: readonly (number | null)[];
  readonly phase?: 'train' | 'evaluate';
  readonly foreign?: true;
  readonly text?: string;
}

function readerOf(made: readonly Made[]): EmptiedRows {
  const bucketOf = ({
    message,
    kept,
    gone,
    foreign,
    text = 'a plan',
  }: Made): ReturnType<EmptiedRows['bucketsOfRun']>[number] => ({
    message,
    continuation: foreign === true ? {} : null,
    alternatives: [
      { message: message, text, finish: 'end', returns: kept },
      { message: 1000 + message, text: ' ', finish: 'typed', returns: gone },
    ],
  });
  const messages = new Map(
    made.map(({ message, problem, phase = 'evaluate' }) => [
      message,
      { id: message, problem, phase, iteration: 4, role: '<b>' },
    ]),
  );
  return {
    countBuckets: () => made.length,
    bucketsOfRun: ({ offset, limit }) => made.slice(offset, offset + limit).map(bucketOf),
    messages: (ids) => ids.flatMap((id) => messages.get(id) ?? []),
  };
}

const HELD: readonly Made[] = [
  { message: 1, problem: 'a', kept: [1, 1], gone: [0, 1] },
  { message: 2, problem: 'a', kept: [1, null], gone: [1, 0] },
  { message: 3, problem: 'b', kept: [0, 0, 1], gone: [0, 1, null] },
];

it('questions are the units, and only pairs of one stream count', () => {
  const [effect, ...others] = emptiedEffects(readerOf(HELD), 'run');
  assert.deepEqual(others, []);
  // a: (1, 1, 1) against (0, 1, 1); b: (0, 0) against (0, 1).
  assert.ok(Math.abs((effect?.team.value ?? 0) - 0.5) < 1e-12);
  assert.ok(Math.abs((effect?.without.value ?? 0) - (2 / 3 + 0.5) / 2) < 1e-12);
  assert.ok(Math.abs((effect?.difference.value ?? 0) - (1 / 3 - 0.5) / 2) < 1e-12);
  assert.deepEqual([effect?.difference.n, effect?.replays, effect?.evaluation], [2, 5, 'Evaluation after, sampled']);
  assert.deepEqual(
    [...countEmptied(readerOf(HELD), 'run')],
    [
      [1, 2],
      [2, 1],
      [3, 2],
    ],
  );
});

it('training, other continuations and messages that are empty themselves are left out', () => {
  const others: readonly Made[] = [
    { message: 4, problem: 'c', kept: [1], gone: [0], phase: 'train' },
    { message: 5, problem: 'd', kept: [1], gone: [0], foreign: true },
    { message: 6, problem: 'e', kept: [1], gone: [0], text: '' },
    { message: 7, problem: 'f', kept: [null], gone: [0] },
  ];
  assert.deepEqual(emptiedEffects(readerOf(others), 'run'), []);
  assert.deepEqual(emptiedEffects(readerOf([...HELD, ...others]), 'run'), emptiedEffects(readerOf(HELD), 'run'));
});

it('the part of a page has its numbers as text, and is not there without them', () => {
  const html = emptiedSection(emptiedEffects(readerOf(HELD), 'run'));
  assertBalanced(html);
  assert.ok(!html.includes('<b>'));
  const text = textOf(html);
  assert.match(text, /Evaluation after, sampled: 2 held-out questions, 5 replays with the message/u);
  assert.match(text, /with an empty message\s*0\.583/u);
  assert.deepEqual([emptiedSection([]), emptiedSection(undefined)], ['', '']);
});
