import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { packContexts, packedLength, type MicroBatch, type TrainingContext } from '../../../src/runtime/pack.ts';
import { Trainer } from '../../../src/runtime/trainer.ts';
import { context, DEVICE, message, RUNNING, testParameters, testTokens, TINY } from './models.ts';
import { item, noise, present, range, total } from './nd.ts';

const feed = (batch: MicroBatch, name: string): number[] => Array.from(present(batch.feeds[name]).data as BigInt64Array | Float32Array, Number);
const dims = (batch: MicroBatch, name: string): readonly number[] => present(batch.feeds[name]).dims;

/** A context whose numbers are all different, so that a wrong one shows. */
function numbered(name: string, promptLength: number, ...lengths: number[]): TrainingContext {
  const { prompt, messages } = context(name, promptLength, ...lengths);
  return {
    prompt,
    messages: messages.map(({ tokens }, index) => {
      const column = (part: string): Float32Array => Float32Array.from(noise(`${name} ${index} ${part}`, [tokens.length]).data);
      return { tokens, behaviour: column('behaviour'), reference: column('reference'), advantages: column('advantages') };
    }),
  };
}

/** One slot of a row, and where the message of its segment stands in the list. */
interface Slot {
  readonly token: number;
  readonly position: number;
  readonly segment: number;
}

/** The slots of a context as the definition has them: the prompt, then each message without its last token. */
const slotsOf = ({ prompt, messages }: TrainingContext): Slot[] => [
  ...Array.from(prompt, (token, position) => ({ token, position, segment: 0 })),
  ...messages.flatMap(({ tokens }, index) => Array.from(tokens.slice(0, -1), (token, order) => ({ token, position: prompt.length + order, segment: index + 1 }))),
];

/** Checks a batch against the contexts that it should hold, in row order. */
function check(batch: MicroBatch, contexts: readonly TrainingContext[], members: readonly number[], weight: number): void {
  const rows = members.map((index) => slotsOf(present(contexts[index])));
  const time = Math.ceil(Math.max(...rows.map((row) => row.length)) / 16) * 16;
  const empty: Slot = { token: 0, position: 0, segment: -1 };
  const slots = rows.flatMap((row) => [...row, ...range(time - row.length).map(() => empty)]);
  for (const name of ['tokens', 'positions', 'segments']) assert.deepEqual(dims(batch, name), [members.length, time]);
  assert.deepEqual(feed(batch, 'tokens'), slots.map(({ token }) => token));
  assert.deepEqual(feed(batch, 'positions'), slots.map(({ position }) => position));
  assert.deepEqual(feed(batch, 'segments'), slots.map(({ segment }) => segment));
  assert.deepEqual(feed(batch, 'slots'), range(time));
  const used = total(rows.map((row) => row.length));
  assert.ok(Math.abs(batch.padding - (1 - used / slots.length)) < 1e-12);

  // Every target, by looking for the slot that predicts it: same row, one position earlier, in the prompt or in the message's own segment.
  const expected = members.flatMap((contextIndex, row) => {
    const { prompt, messages } = present(contexts[contextIndex]);
    return messages.flatMap(({ tokens, behaviour, reference, advantages }, index) =>
      Array.from(tokens, (token, order) => {
        const position = prompt.length + order - 1;
        const predicting = slots.findIndex((slot, flat) => Math.floor(flat / time) === row && slot.position === position && slot.segment === (order === 0 ? 0 : index + 1));
        return { predicting, token, behaviour: item(behaviour, order), reference: item(reference, order), advantages: item(advantages, order) };
      }),
    );
  });
  assert.equal(batch.targets, expected.length);
  assert.deepEqual(feed(batch, 'selected'), expected.map(({ predicting }) => predicting));
  assert.deepEqual(feed(batch, 'targets'), expected.map(({ token }) => token));
  for (const name of ['behaviour', 'reference', 'advantages'] as const) assert.deepEqual(feed(batch, name), expected.map((target) => target[name]));
  assert.deepEqual(feed(batch, 'weights'), expected.map(() => Math.fround(weight)));
  let start = 0;
  const placements = members.flatMap((contextIndex) =>
    present(contexts[contextIndex]).messages.map(({ tokens }, index) => {
      const placement = { context: contextIndex, message: index, start };
      start += tokens.length;
      return placement;
    }),
  );
  assert.deepEqual(batch.placements, placements);
}

describe('packContexts', () => {
  it('lays out tokens, positions, segments and targets as brute force does', () => {
    const contexts = [numbered('a', 3, 2, 1, 4), numbered('b', 7, 5), numbered('c', 1, 1, 1), numbered('d', 16, 9, 9)];
    const batches = packContexts(contexts, 1000, 0.25);
    assert.equal(batches.length, 1);
    // Longest first: 16 + 8 + 8, 7 + 4, 3 + 1 + 0 + 3, 1.
    check(present(batches[0]), contexts, [3, 1, 0, 2], 0.25);
  });

  it('fills micro-batches with rows of similar length, up to the slots given, and splits no context', () => {
    const lengths = [5, 40, 17, 16, 33, 5, 31, 15, 48, 2];
    const contexts = lengths.map((length, index) => numbered(`row ${index}`, length, 1));
    // Sorted: 48 40 33 | 31 17 | 16 16 ... with 96 slots: two rows of 48, then one row of 48 with 33 and 31, three of 32, ...
    const batches = packContexts(contexts, 96, 1);
    const members = batches.map(({ placements }) => placements.map((placement) => placement.context));
    assert.deepEqual(members, [[8, 1], [4, 6], [2, 3, 7], [0, 5, 9]]);
    batches.forEach((batch, index) => check(batch, contexts, present(members[index]), 1));
  });

  it('gives a context that is longer than a micro-batch one of its own', () => {
    const contexts = [numbered('long', 100, 3), numbered('short', 3, 3)];
    assert.deepEqual(packContexts(contexts, 32, 1).map(({ placements }) => placements.map((placement) => placement.context)), [[0], [1]]);
  });

  it('keeps the order of contexts of one length', () => {
    const contexts = range(5).map((index) => numbered(`same ${index}`, 4, 2));
    assert.deepEqual(packContexts(contexts, 1000, 1)[0]?.placements.map((placement) => placement.context), [0, 1, 2, 3, 4]);
  });

  it('doubles a single target without weight', () => {
    const contexts = [numbered('single', 4, 1)];
    const batch = present(packContexts(contexts, 1000, 0.5)[0]);
    assert.equal(batch.targets, 1);
    for (const name of ['selected', 'targets', 'behaviour', 'reference', 'advantages']) {
      const [first, second, more] = feed(batch, name);
      assert.deepEqual([second, more], [first, undefined], name);
    }
    assert.deepEqual(feed(batch, 'weights'), [0.5, 0]);
  });

  it('packs nothing into nothing', () => {
    assert.deepEqual(packContexts([], 1000, 1), []);
  });

  it('counts the slots of a context', () => {
    assert.equal(packedLength(context('count', 7, 5, 1, 3)), 7 + 4 + 0 + 2);
  });
});

describe('packed and alone', () => {
  it('a message has the same log-probabilities whichever messages share its row', async () => {
    const flat = testParameters(TINY);
    const trainer = new Trainer(TINY, DEVICE);
    const packed = context('packed', 20, 7, 1, 12, 5);
    const alone = packed.messages.map((one) => ({ prompt: packed.prompt, messages: [one] }));
    const [together = []] = await trainer.score(flat, [packed], 1, RUNNING.cancelled);
    const apart = await trainer.score(flat, alone, 1, RUNNING.cancelled);
    // The others could hold anything.
    const others = { prompt: packed.prompt, messages: packed.messages.map((one, index) => (index === 2 ? one : message(testTokens('other', 9)))) };
    const [changed = []] = await trainer.score(flat, [others], 1, RUNNING.cancelled);
    await trainer.release();
    assert.deepEqual(together.map(({ length }) => length), [7, 1, 12, 5]);
    together.forEach((logprobs, index) => {
      logprobs.forEach((value, token) => assert.ok(Math.abs(value - item(present(apart[index]?.[0]), token)) < 1e-5));
    });
    present(changed[2]).forEach((value, token) => assert.ok(Math.abs(value - item(present(together[2]), token)) < 1e-5));
  });

  it('results come back in the order given, though rows are sorted by length', async () => {
    const flat = testParameters(TINY);
    const trainer = new Trainer(TINY, DEVICE);
    const contexts = [context('x', 3, 2), context('y', 30, 4, 1), context('z', 9, 6)];
    const together = await trainer.score(flat, contexts, 1, RUNNING.cancelled);
    for (const [index, one] of contexts.entries()) {
      const [apart = []] = await trainer.score(flat, [one], 1, RUNNING.cancelled);
      assert.deepEqual(together[index]?.map(({ length }) => length), one.messages.map(({ tokens }) => tokens.length));
      apart.forEach((logprobs, number) => logprobs.forEach((value, token) => assert.ok(Math.abs(value - item(present(together[index]?.[number]), token)) < 1e-5)));
    }
    await trainer.release();
  });
});
