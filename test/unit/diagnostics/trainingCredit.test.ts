import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mean } from '../../../src/credit/describe.ts';
import { measureTrainingCredit, type TargetedMessage } from '../../../src/diagnostics/trainingCredit.ts';

const close = (actual: number | null | undefined, expected: number): void =>
  assert.ok(typeof actual === 'number' && Math.abs(actual - expected) < 1e-12, `${String(actual)} is not ${expected}`);

/** Returns by the first and the second action, all of which are said equally often. */
const TABLE = [
  [1, 0.5, 0],
  [0.25, 0.25, 0.25],
  [0, 1, 0.75],
];
const ALL = TABLE.flat();
const WORTH = TABLE.map((row) => mean(row) - mean(ALL));
const SIGNS = [-1, 1];
const squares = (values: readonly number[]): number => mean(values.map((value) => (value - mean(values)) ** 2));

/** Every first action on some questions, with what each is credited with and its pairs. */
const messages = (
  of: (action: number, problem: number) => readonly Pick<TargetedMessage, 'credit' | 'pairs'>[],
  problems = 2,
): TargetedMessage[] =>
  Array.from({ length: problems }, (_, problem) =>
    TABLE.flatMap((_row, action) =>
      of(action, problem).map((own) => ({ problem: String(problem), context: String(problem), ...own })),
    ),
  ).flat();

/** All that a message and an alternative can return, each twice, so that both halves have every pair. */
const everyPair = (action: number): [number, number][] =>
  (TABLE[action] ?? []).flatMap((own) =>
    ALL.flatMap((other): [number, number][] => [
      [own, other],
      [own, other],
    ]),
  );

describe('training credit fidelity, by enumeration of all outcomes', () => {
  it('is 1 for the advantage itself, whatever its scale and what is added to it', () => {
    const found = measureTrainingCredit(
      messages((action) => [{ credit: 7 * (WORTH[action] ?? NaN) + 3, pairs: everyPair(action) }]),
    );
    close(found.correlation?.value, 1);
    close(found.disattenuated?.value, 1);
    close(found.reliability, 1);
    assert.deepEqual(
      [found.problems, found.contexts, found.messages, found.pairs, found.leftOut, found.degenerate],
      [2, 2, 6, 2 * 3 * 54, 0, null],
    );
  });

  it('is the deviation of the advantage over that of the return for the credit of whole episodes', () => {
    const found = measureTrainingCredit(
      messages((action) => (TABLE[action] ?? []).map((own) => ({ credit: own - mean(ALL), pairs: everyPair(action) }))),
    );
    close(found.correlation?.value, Math.sqrt(squares(WORTH) / squares(ALL)));
  });

  it('is smaller by the noise of the replays, which the halves take out again', () => {
    const noisy = messages((action) =>
      SIGNS.flatMap((one) =>
        SIGNS.map((other) => ({
          credit: WORTH[action] ?? NaN,
          pairs: [
            [WORTH[action] ?? NaN, one / 4],
            [WORTH[action] ?? NaN, other / 4],
          ] as const,
        })),
      ),
    );
    const found = measureTrainingCredit(noisy);
    // Two pairs with a variance of 1/16 each.
    const share = squares(WORTH) / (squares(WORTH) + 1 / 32);
    close(found.reliability, share);
    close(found.correlation?.value, Math.sqrt(share));
    close(found.disattenuated?.value, 1);
  });

  it('draws the messages of a question together', () => {
    // The credit is right on one half of the questions and says the opposite on the other.
    const credited = (problems: number) =>
      measureTrainingCredit(
        messages(
          (action, problem) => [
            { credit: (WORTH[action] ?? NaN) * (problem % 2 === 0 ? 1 : -1), pairs: everyPair(action) },
          ],
          problems,
        ),
      ).correlation;
    const [few, many] = [credited(4), credited(64)];
    close(few?.value, 0);
    assert.deepEqual([few?.n, few?.low, few?.high], [4, -1, 1]);
    // Of 64 questions with as much of each, the deviation is 1/8.
    assert.ok(Math.abs((many?.high ?? NaN) - 1.96 / 8) < 0.03, String(many?.high));
  });
});

describe('training credit fidelity where there is little', () => {
  const pairs = [[1, 0]] as const;

  it('says that equal credits correlate with nothing, and equal targets likewise', () => {
    const equal = measureTrainingCredit(messages((action) => [{ credit: 0, pairs: everyPair(action) }]));
    assert.deepEqual([equal.correlation, equal.disattenuated], [null, null]);
    assert.match(equal.degenerate ?? '', /All credits are equal/u);
    const flat = measureTrainingCredit(messages((action) => [{ credit: action, pairs }]));
    assert.deepEqual([flat.correlation, flat.reliability], [null, null]);
    assert.match(flat.degenerate ?? '', /All estimated targets are equal/u);
  });

  it('leaves out pairs and messages without both returns, and says when too few are left', () => {
    const found = measureTrainingCredit([
      {
        problem: 'a',
        context: 'a',
        credit: 1,
        pairs: [
          [1, null],
          [1, 0],
          [null, 1],
        ],
      },
      { problem: 'a', context: 'b', credit: 0, pairs: [[null, 0]] },
    ]);
    assert.deepEqual([found.messages, found.contexts, found.pairs, found.leftOut], [1, 1, 1, 1]);
    assert.match(found.degenerate ?? '', /Fewer than two messages/u);
    assert.equal(measureTrainingCredit([]).correlation, null);
  });

  it('takes no noise out where one pair of each message shows none, or the halves go against each other', () => {
    const single = measureTrainingCredit(messages((action) => [{ credit: action, pairs: [[action, 0]] }]));
    close(single.correlation?.value, 1);
    assert.deepEqual([single.disattenuated, single.reliability], [null, null]);
    const against = measureTrainingCredit(
      messages((action) => [
        {
          credit: action,
          pairs: [
            [2 * action, 0],
            [-action, 0],
          ],
        },
      ]),
    );
    assert.ok((against.reliability ?? 0) < 0);
    assert.deepEqual([against.disattenuated, against.degenerate], [null, null]);
  });
});
