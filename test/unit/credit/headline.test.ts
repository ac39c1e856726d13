import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creditGroup } from '../../../src/credit/estimators.ts';
import { creditPoolMembers, RANGE_UNKNOWN, returnRange } from '../../../src/credit/headline.ts';
import { compareInBucket } from '../../../src/credit/pairing.ts';
import type { CreditPool, PoolBucket, PoolMember } from '../../../src/shared/credit/creditPool.ts';
import type { Headline } from '../../../src/shared/credit/headline.ts';
import { Numbers, play, playTerminal, poolOf, tabular } from './tabular.ts';

const near = (value: number | null | undefined, expected: number, slack = 1e-9): void =>
  assert.ok(Math.abs((value ?? NaN) - expected) < slack, `${String(value)} is not ${expected}`);
const member = (key: string, values: readonly (number | null)[], drawn = true): PoolMember => ({
  key,
  drawn,
  results: values.map((value, stream) => ({ stream, source: String(stream), value, evaluatorCalls: 1 })),
});
const bucket = (id: number, ...members: PoolMember[]): PoolBucket => ({ id, members });
const of = (pool: CreditPool, key: string): Headline => {
  const found = creditPoolMembers(pool).get(key);
  assert.ok(found);
  return found;
};

test('of one bucket without copies the value is the leave-one-out credit', () => {
  const rows = [
    [1, 1, 0],
    [0, 1, 0],
    [1, 0, 0],
    [0, 0, 0],
  ];
  const headlines = creditPoolMembers(poolOf([bucket(1, ...rows.map((values, index) => member(`m${index}`, values)))]));
  const expected = creditGroup({ alternatives: rows.map((returns) => ({ returns, evaluatorCalls: 3 })) }, 'loo');
  for (const [index, credit] of expected.entries()) {
    near(headlines.get(`m${index}`)?.value, credit?.value ?? NaN);
  }
});

test('a paired bucket by hand: the bound is where the capital of the bets is 40', () => {
  // Every unit is 1: the capital of stake theta against d0 is (1 + theta (1 - d0) / (1 + d0))^n.
  const draws = Array.from({ length: 12 }, (_, index): PoolMember => ({
    key: `d${index}`,
    drawn: true,
    results: [{ stream: index, source: String(index), value: 0, evaluatorCalls: 1 }],
  }));
  const pool = poolOf([
    bucket(
      1,
      member(
        'a',
        Array.from({ length: 12 }, () => 1),
        false,
      ),
      ...draws,
    ),
  ]);
  const found = of(pool, 'a');
  assert.deepEqual(
    [found.value, found.high, found.effectiveN, found.n, found.verdict, found.more],
    [1, 1, 12, 24, 'helped', 0],
  );
  const stakes = [
    [0.1, 0.1],
    [0.25, 0.2],
    [0.45, 0.2],
    [0.65, 0.2],
    [0.85, 0.2],
    [0.97, 0.1],
  ] as const;
  const capital = (d0: number): number =>
    stakes.reduce((sum, [theta, weight]) => sum + weight * (1 + (theta * (1 - d0)) / (1 + d0)) ** 12, 0);
  assert.ok(found.low !== null && capital(found.low) >= 40 && capital(found.low + 1e-5) < 40, String(found.low));
});

test('copies count once: the same plan twice under common random numbers is one alternative with its results counted once', () => {
  const single = of(poolOf([bucket(1, member('a', [0, 1, 1, 1], false), member('b', [0, 0, 1, 0]))]), 'a');
  const typedAgain = of(
    poolOf([bucket(1, member('a', [0, 1, 1, 1], false), member('a', [0, 1, 1, 1], false), member('b', [0, 0, 1, 0]))]),
    'a',
  );
  assert.deepEqual(
    { ...typedAgain, evaluatorCalls: 8 },
    { ...single, evaluatorCalls: 8 },
    'the same results again change nothing',
  );
  const folded = creditPoolMembers(
    poolOf([bucket(1, member('a', [0, 1, 1, 1]), member('a', [0, 1, 1, 1]), member('b', [0, 0, 1, 0]))]),
  );
  assert.deepEqual([...folded.keys()], ['a', 'b']);
  assert.deepEqual([folded.get('a')?.copies, folded.get('a')?.n, folded.get('b')?.copies], [2, 8, 1]);
  // The other draw of the text stays in the baseline of the first, and both in that of b.
  near(folded.get('a')?.value, (0 + 0.5) / 2);
  near(folded.get('b')?.value, -0.5);
});

test('a bucket that repeats the draws of another adds nothing', () => {
  const draws = [member('a', [1]), member('b', [0]), member('c', [0])];
  const once = creditPoolMembers(poolOf([bucket(1, ...draws)]));
  const again = creditPoolMembers(
    poolOf([bucket(1, ...draws), bucket(2, ...draws.map((draw) => ({ ...draw, repeated: true })))]),
  );
  assert.deepEqual(again, once);
  assert.ok(
    (of(poolOf([bucket(1, ...draws), bucket(2, ...draws)]), 'a').low ?? 1) > (once.get('a')?.low ?? 1),
    'draws of their own count',
  );
});

test('what was taken from an equal result is counted as reused', () => {
  const again: PoolMember = {
    key: 'a',
    drawn: true,
    results: [0, 1].map((stream) => ({ stream, source: String(stream), value: 1, evaluatorCalls: 0 })),
  };
  const found = of(poolOf([bucket(1, member('a', [1, 1]), again, member('b', [0, 0]))]), 'a');
  assert.deepEqual([found.n, found.evaluatorCalls, found.reused, found.copies], [4, 4, 2, 2]);
});

test('a typed text is compared with the draws and never is one of them', () => {
  const draws = [member('b', [0, 1]), member('c', [1, 1])];
  const without = creditPoolMembers(poolOf([bucket(1, member('a', [1, 0], false), ...draws)]));
  const withTyped = creditPoolMembers(
    poolOf([bucket(1, member('a', [1, 0], false), ...draws, member('typed', [0, 0], false))]),
  );
  for (const key of ['a', 'b', 'c']) {
    assert.deepEqual(withTyped.get(key), without.get(key));
  }
  near(withTyped.get('typed')?.value, -0.75);
});

test('a message without another draw is alone', () => {
  for (const members of [
    [member('a', [1, 0])],
    [member('a', [1, 0], false), member('a', [1, 0])],
    [member('a', [1, 0], false), member('typed', [0, 0], false)],
    [member('a', [1, 0]), member('b', [null, null])],
  ]) {
    const found = of(poolOf([bucket(1, ...members)]), 'a');
    assert.deepEqual(
      [found.verdict, found.value, found.low, found.high, found.effectiveN, found.more],
      ['alone', 0, null, null, 0, null],
    );
  }
  assert.equal(
    creditPoolMembers(poolOf([bucket(1, member('a', [null]), member('b', [1]))])).has('a'),
    false,
    'masked results are none',
  );
});

test('a return outside the known range leaves the value and takes the interval', () => {
  const pool = { ...poolOf([bucket(1, member('a', [2, 2]), member('b', [0, 0]))]) };
  const found = of(pool, 'a');
  assert.deepEqual(
    [found.value, found.low, found.high, found.verdict, found.more, found.reason],
    [2, null, null, 'undecided', null, RANGE_UNKNOWN],
  );
  assert.notEqual(of({ ...pool, range: returnRange(2, 10) }, 'a').low, null, 'two scored messages return up to 2');
  assert.deepEqual(
    [returnRange(3, 10), returnRange(3, 2)],
    [
      { low: 0, high: 3 },
      { low: 0, high: 2 },
    ],
  );
  assert.equal(of({ ...pool, range: null }, 'a').low, null);
});

test('the value lies inside the interval, the interval inside the range, and neither hangs on the order of members', () => {
  for (let seed = 0; seed < 60; seed++) {
    const numbers = new Numbers(31, seed);
    const context = tabular(numbers, seed);
    const design = { draws: 1 + (seed % 7), streams: 1 + (seed % 5), independent: seed % 3 === 0 };
    const buckets = [
      play(numbers, context, 1, seed % 2 === 0 ? 0 : null, design),
      play(numbers, context, 2, 0, { draws: 3, streams: 4 }),
    ];
    const headlines = creditPoolMembers(poolOf(buckets));
    for (const { value, low, high, verdict } of headlines.values()) {
      if (verdict === 'alone') {
        continue;
      }
      assert.ok(low !== null && high !== null && low <= value && value <= high && low >= -1 && high <= 1);
    }
    // Names of draws are exchangeable; so is the order in which typed and chosen messages are.
    const chosenLast = buckets.map(({ id, members }) => ({
      id,
      members: [...members.filter(({ drawn }) => drawn), ...members.filter(({ drawn }) => !drawn)],
    }));
    assert.deepEqual(new Map([...creditPoolMembers(poolOf(chosenLast))].sort()), new Map([...headlines].sort()));
  }
});

test('better results never lower a bound, and further equal evidence only narrows the interval', () => {
  for (let seed = 0; seed < 40; seed++) {
    const numbers = new Numbers(37, seed);
    const context = tabular(numbers, seed);
    const [own] = play(numbers, context, 1, 0, { draws: 5, streams: 4 }).members;
    const rest = play(numbers, context, 1, 0, { draws: 5, streams: 4 }).members.slice(1);
    assert.ok(own);
    const better = {
      ...own,
      results: own.results.map((result, index) => (index === seed % 4 ? { ...result, value: 1 } : result)),
    };
    const [before, after] = [of(poolOf([bucket(1, own, ...rest)]), '0'), of(poolOf([bucket(1, better, ...rest)]), '0')];
    if (before.verdict !== 'alone') {
      assert.ok((after.low ?? -1) >= (before.low ?? -1) && (after.high ?? 1) >= (before.high ?? 1));
    }
  }
  const units = (count: number): Headline =>
    of(
      poolOf([
        bucket(
          1,
          member(
            'a',
            Array.from({ length: count }, (_, index) => (index % 4 === 0 ? 0 : 1)),
            false,
          ),
          ...Array.from({ length: count }, (_, index): PoolMember => ({
            key: `d${index}`,
            drawn: true,
            results: [{ stream: index, source: String(index), value: 0, evaluatorCalls: 1 }],
          })),
        ),
      ]),
      'a',
    );
  const widths = [8, 16, 32, 64, 512].map((count) => {
    const { low, high } = units(count);
    return (high ?? 1) - (low ?? -1);
  });
  assert.deepEqual(
    widths,
    widths.toSorted((a, b) => b - a),
  );
  assert.ok((widths.at(-1) ?? 1) < 0.3, String(widths.at(-1)));
});

test('designs: blocks share no draw and no stream; branches of one first message are one result; a message that ends the episode has one', () => {
  const crossed = bucket(
    1,
    member('a', [1, 1, 1, 1], false),
    member('b', [0, 0, 0, 0]),
    member('c', [0, 0, 0, 0]),
    member('d', [1, 0, 1, 0]),
  );
  const evidence = compareInBucket(crossed, 'a', false);
  assert.ok(evidence);
  assert.equal(evidence.units, 3);
  // Streams 0 and 3 are one block: draw d differs from a by 0 and 1 there.
  assert.deepEqual(
    evidence.assignments.map((units) => units.toSorted((a, b) => a - b)),
    [
      [0, 1, 1],
      [1, 1, 1],
      [0.5, 1, 1],
    ],
  );
  assert.equal(evidence.cells.length, 12);
  const nested: PoolMember = {
    key: 'a',
    drawn: true,
    results: [
      [0, 1],
      [0, 0],
      [1, 1],
      [1, 1],
    ].map(([stream = 0, value = 0], index) => ({ stream, source: String(index), value, evaluatorCalls: 1 })),
  };
  const tree = compareInBucket(
    bucket(1, nested, { ...nested, key: 'b', results: nested.results.map((result) => ({ ...result, value: 0 })) }),
    'a',
    false,
  );
  assert.deepEqual(tree?.cells, [0.5, 1]);
  const numbers = new Numbers(3, 3);
  const terminal = playTerminal(numbers, tabular(numbers, 3), 1, 0, 8);
  assert.equal(compareInBucket(terminal, '0', true)?.units, 8);
  const pairs = play(numbers, tabular(numbers, 4), 1, 0, { draws: 6, streams: 6, paired: true });
  assert.deepEqual(
    [compareInBucket(pairs, '0', false)?.units, compareInBucket(pairs, '0', false)?.assignments.length],
    [6, 1],
  );
});

test('of messages that end the episode each draw counts, so that n is never below effective n', () => {
  const drawn = (key: string, value: number): PoolMember => ({
    key,
    drawn: true,
    results: [{ stream: 0, source: 'end', value, evaluatorCalls: 0 }],
  });
  const found = of(
    poolOf(
      [
        bucket(1, drawn('a', 0), drawn('b', 1)),
        bucket(2, { ...drawn('a', 0), drawn: false }, drawn('b', 1), drawn('b', 1), drawn('c', 1)),
      ],
      true,
    ),
    'a',
  );
  assert.deepEqual(
    [found.n, found.effectiveN, found.reused],
    [5, 4, 3],
    'its own result and four draws, of which three say b',
  );
  for (let seed = 0; seed < 200; seed++) {
    const numbers = new Numbers(61, seed);
    const context = tabular(numbers, seed);
    const terminal = seed % 2 === 0;
    const buckets = terminal
      ? [playTerminal(numbers, context, 1, null, 4), playTerminal(numbers, context, 2, 0, 8)]
      : [
          play(numbers, context, 1, null, { draws: 4, streams: 4, independent: true }),
          play(numbers, context, 2, 0, { draws: 3, streams: 8 }),
          play(numbers, context, 3, 0, { draws: 6, streams: 6, paired: true }),
        ];
    for (const [key, credit] of creditPoolMembers(poolOf(buckets, terminal))) {
      assert.ok(credit.n >= credit.effectiveN, `${seed} ${key} ${credit.n} ${credit.effectiveN}`);
    }
  }
});

test('what it would take: nothing to go by promises no end, a clear difference a near one', () => {
  const same = of(
    poolOf([bucket(1, member('a', [1, 0, 1, 0], false), member('b', [1, 0, 1, 0]), member('c', [1, 0, 1, 0]))]),
    'a',
  );
  assert.deepEqual([same.value, same.verdict, same.more], [0, 'undecided', null]);
  const clear = of(
    poolOf([
      bucket(
        1,
        member('a', [1, 1, 1, 1], false),
        member('b', [0, 0, 0, 0]),
        member('c', [0, 0, 0, 0]),
        member('d', [0, 0, 0, 0]),
        member('e', [0, 0, 0, 0]),
      ),
    ]),
    'a',
  );
  assert.ok(
    clear.verdict === 'undecided' && clear.more !== null && clear.more >= 2 && clear.more <= 12,
    String(clear.more),
  );
});
