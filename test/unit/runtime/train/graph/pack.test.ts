import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  packContexts,
  TIME_MULTIPLE,
  type MicroBatch,
  type TrainingContext,
} from '../../../../../src/runtime/train/graph/pack.ts';
import { Trainer } from '../../../../../src/runtime/train/trainer.ts';
import { context, DEVICE, message, RUNNING, testParameters, testTokens, TINY } from '../../models.ts';
import { item, noise, present, range, total } from '../../nd.ts';

const feed = (batch: MicroBatch, name: string): number[] =>
  Array.from(present(batch.feeds[name]).data as Int32Array | BigInt64Array | Float32Array, Number);
const dims = (batch: MicroBatch, name: string): readonly number[] => present(batch.feeds[name]).dims;

/** A context whose numbers are all different, so that a wrong one shows. */
function numbered(name: string, promptLength: number, ...lengths: number[]): TrainingContext {
  const { prompt, messages } = context(name, promptLength, ...lengths);
  return {
    prompt,
    messages: messages.map(({ tokens }, index) => {
      const column = (part: string): Float32Array =>
        Float32Array.from(noise(`${name} ${index} ${part}`, [tokens.length]).data);
      return {
        tokens,
        behaviour: column('behaviour'),
        reference: column('reference'),
        advantages: column('advantages'),
      };
    }),
  };
}

/** One slot of a row, and the target that it predicts. */
interface Slot {
  readonly token: number;
  readonly position: number;
  readonly segment: number;
  readonly target?: {
    readonly token: number;
    readonly behaviour: number;
    readonly reference: number;
    readonly advantages: number;
  };
}

/**
 * The slots of a row as the definition has them: the prompt without its last token, then for each message that last
 * token and the message without its own last.
 */
const slotsOf = (prompt: Int32Array, messages: TrainingContext['messages']): Slot[] => [
  ...Array.from(prompt.slice(0, -1), (token, position) => ({ token, position, segment: 0 })),
  ...messages.flatMap(({ tokens, behaviour, reference, advantages }, index) =>
    Array.from([item(prompt, prompt.length - 1), ...tokens.slice(0, -1)], (token, order) => ({
      token,
      position: prompt.length - 1 + order,
      segment: index + 1,
      target: {
        token: item(tokens, order),
        behaviour: item(behaviour, order),
        reference: item(reference, order),
        advantages: item(advantages, order),
      },
    })),
  ),
];

/** A row: a context and which of its messages. */
type Row = readonly [context: number, ...messages: number[]];

/** Checks a batch against the rows that it should hold, in order. */
function check(batch: MicroBatch, contexts: readonly TrainingContext[], members: readonly Row[], weight: number): void {
  const rows = members.map(([context, ...messages]) =>
    slotsOf(
      present(contexts[context]).prompt,
      messages.map((message) => present(present(contexts[context]).messages[message])),
    ),
  );
  const time = Math.ceil(Math.max(...rows.map((row) => row.length)) / TIME_MULTIPLE) * TIME_MULTIPLE;
  const empty: Slot = { token: 0, position: 0, segment: -1 };
  const slots = rows.flatMap((row) => [...row, ...range(time - row.length).map(() => empty)]);
  for (const name of ['tokens', 'segments']) {
    assert.deepEqual(dims(batch, name), [members.length, time]);
  }
  assert.deepEqual(dims(batch, 'positions'), [members.length * time, 1]);
  assert.deepEqual(
    feed(batch, 'tokens'),
    slots.map(({ token }) => token),
  );
  assert.deepEqual(
    feed(batch, 'positions'),
    slots.map(({ position }) => position),
  );
  assert.deepEqual(
    feed(batch, 'segments'),
    slots.map(({ segment }) => segment),
  );
  assert.deepEqual(feed(batch, 'slots'), range(time));
  assert.deepEqual([dims(batch, 'ones'), new Set(feed(batch, 'ones'))], [[time, 2], new Set([1])]);
  assert.equal(batch.slots, slots.length);
  assert.equal(batch.padding, slots.length - total(rows.map((row) => row.length)));

  const expected = slots.flatMap(({ target }, slot) => (target === undefined ? [] : [{ slot, ...target }]));
  assert.deepEqual(
    feed(batch, 'selected'),
    expected.map(({ slot }) => slot),
  );
  assert.deepEqual(
    feed(batch, 'inverse'),
    slots.map((_, slot) =>
      expected.some((target) => target.slot === slot)
        ? expected.findIndex((target) => target.slot === slot)
        : expected.length,
    ),
  );
  assert.equal(batch.targets, expected.length);
  assert.deepEqual(
    feed(batch, 'targets'),
    expected.map(({ token }) => token),
  );
  for (const name of ['behaviour', 'reference', 'advantages'] as const) {
    assert.deepEqual(
      feed(batch, name),
      expected.map((target) => target[name]),
    );
  }
  assert.deepEqual(
    feed(batch, 'weights'),
    expected.map(() => Math.fround(weight)),
  );
  let start = 0;
  const placements = members.flatMap(([context, ...messages]) =>
    messages.map((message) => {
      const placement = { context, message, start };
      start += present(present(contexts[context]).messages[message]).tokens.length;
      return placement;
    }),
  );
  assert.deepEqual(batch.placements, placements);
}

describe('packContexts', () => {
  it('lays out tokens, positions, segments and targets as brute force does', () => {
    const contexts = [numbered('a', 3, 2, 1, 4), numbered('b', 7, 5), numbered('c', 1, 1, 1), numbered('d', 16, 9, 9)];
    const batches = packContexts(TINY, contexts, 1000, 0.25);
    assert.equal(batches.length, 1);
    // Longest first: 15 + 9 + 9, 6 + 5, 2 + 2 + 1 + 4, 0 + 1 + 1.
    check(
      present(batches[0]),
      contexts,
      [
        [3, 0, 1],
        [1, 0],
        [0, 0, 1, 2],
        [2, 0, 1],
      ],
      0.25,
    );
  });

  it('fills micro-batches with rows of similar length, up to the slots given', () => {
    const lengths = [5, 40, 17, 16, 33, 5, 31, 15, 48, 2];
    const contexts = lengths.map((length, index) => numbered(`row ${index}`, length - 1, 2));
    const batches = packContexts(TINY, contexts, 96, 1);
    // Sorted: 48 | 40 33 | 31 17 | 16 15 5 | 5 2. The first row of a batch sets its time (48, 40, 32, 16, 8); one that
    // is half full takes no row below 85 % of that.
    const members = [[8], [1, 4], [6, 2], [3, 7, 0], [5, 9]].map((rows) => rows.map((row): Row => [row, 0]));
    assert.equal(batches.length, members.length);
    batches.forEach((batch, index) => check(batch, contexts, present(members[index]), 1));
  });

  it('divides the messages of a context among rows, so that attention adds up a row in one go', () => {
    // 256 slots at width 64 (see exactSlots): 99 + 100 + 57 fill a row, 99 + 58 + 99 the next.
    const config = { ...TINY, headDim: 64 };
    const contexts = [numbered('many', 100, 100, 57, 58, 99, 1)];
    const [batch, more] = packContexts(config, contexts, 10_000, 1);
    assert.equal(more, undefined);
    check(
      present(batch),
      contexts,
      [
        [0, 0, 1],
        [0, 2, 3],
        [0, 4],
      ],
      1,
    );
    // Beyond the first 256 slots a row continues to the end of the next 256.
    const long = [numbered('long', 300, 5, 5)];
    check(present(packContexts(config, long, 10_000, 1)[0]), long, [[0, 0, 1]], 1);
    const crossing = [numbered('crossing', 505, 5, 5)];
    check(
      present(packContexts(config, crossing, 10_000, 1)[0]),
      crossing,
      [
        [0, 0],
        [0, 1],
      ],
      1,
    );
  });

  it('gives a row that is longer than a micro-batch one of its own', () => {
    const contexts = [numbered('long', 100, 3), numbered('short', 3, 3)];
    assert.deepEqual(
      packContexts(TINY, contexts, 32, 1).map(({ placements }) => placements.map((placement) => placement.context)),
      [[0], [1]],
    );
  });

  it('keeps the order of contexts of one length', () => {
    const contexts = range(5).map((index) => numbered(`same ${index}`, 4, 2));
    assert.deepEqual(
      packContexts(TINY, contexts, 1000, 1)[0]?.placements.map((placement) => placement.context),
      [0, 1, 2, 3, 4],
    );
  });

  for (const prompt of [1, 4]) {
    it(`adds to a single target one without weight at another slot, after ${prompt} tokens`, () => {
      const contexts = [numbered('single', prompt, 1)];
      const batch = present(packContexts(TINY, contexts, 1000, 0.5)[0]);
      assert.equal(batch.targets, 1);
      const [selected, inverse] = [feed(batch, 'selected'), feed(batch, 'inverse')];
      assert.deepEqual([selected.length, selected[0], new Set(selected).size], [2, prompt - 1, 2]);
      // Each position leads back to its place, all others to nothing.
      assert.deepEqual(
        inverse,
        range(TIME_MULTIPLE).map((slot) => (selected.includes(slot) ? selected.indexOf(slot) : 2)),
      );
      assert.deepEqual(feed(batch, 'weights'), [0.5, 0]);
      for (const name of ['targets', 'behaviour', 'reference', 'advantages']) {
        assert.deepEqual([feed(batch, name).length, feed(batch, name)[1]], [2, 0], name);
      }
      assert.deepEqual(batch.placements, [{ context: 0, message: 0, start: 0 }]);
    });
  }

  it('packs nothing into nothing', () => assert.deepEqual(packContexts(TINY, [], 1000, 1), []));
});

describe('packed and alone', () => {
  it('a message has the same bits whichever messages share its row', async () => {
    const flat = testParameters(TINY);
    const trainer = new Trainer(TINY, DEVICE);
    // 99 slots, though the model has 64 positions: messages are at the same ones.
    const packed = context('packed', 50, 14, 1, 12, 15, 8);
    const alone = packed.messages.map((one) => ({ prompt: packed.prompt, messages: [one] }));
    const [together = []] = await trainer.score(flat, [packed], 1, RUNNING.signal);
    const apart = await trainer.score(flat, alone, 1, RUNNING.signal);
    // The others could hold anything.
    const others = {
      prompt: packed.prompt,
      messages: packed.messages.map((one, index) => (index === 2 ? one : message(testTokens('other', 9)))),
    };
    const [changed = []] = await trainer.score(flat, [others], 1, RUNNING.signal);
    await trainer.release();
    assert.deepEqual(
      together.map(({ length }) => length),
      [14, 1, 12, 15, 8],
    );
    assert.deepEqual(
      apart.map(([logprobs]) => logprobs),
      together,
    );
    assert.deepEqual(changed[2], together[2]);
  });

  it('results come back in the order given, though rows are sorted by length', async () => {
    const flat = testParameters(TINY);
    const trainer = new Trainer(TINY, DEVICE);
    const contexts = [context('x', 3, 2), context('y', 30, 4, 1), context('z', 9, 6)];
    const together = await trainer.score(flat, contexts, 1, RUNNING.signal);
    for (const [index, one] of contexts.entries()) {
      assert.deepEqual(await trainer.score(flat, [one], 1, RUNNING.signal), together.slice(index, index + 1));
    }
    await trainer.release();
  });
});
