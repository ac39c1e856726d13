/** Calls of tools in pieces, as the servers that differ from the documentation send them. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StreamedCalls } from '../../../src/chat/choices.ts';

/** The calls that pieces make, one list for each piece of the answer. */
const made = (...deltas: readonly (readonly unknown[])[]): unknown => {
  const calls = new StreamedCalls();
  for (const delta of deltas) {
    calls.add(delta);
  }
  return calls.made.map(({ id, function: of }) => [id, ...(Object.values(Object(of) as object) as unknown[])] as const);
};
const piece = (more: object, name?: string, given?: unknown): unknown => ({
  ...more,
  function: { ...(name !== undefined && { name }), ...(given !== undefined && { arguments: given }) },
});
const SEARCH = ['a', 'search', '{"q":1}'];
const SUM = ['b', 'sum', '[1,2]'];

describe('calls in pieces', () => {
  it('are told apart by their numbers, mixed as they may come', () => {
    const pieces = [
      [piece({ index: 0, id: 'a' }, 'search', '')],
      [piece({ index: 1, id: 'b' }, 'sum', '[1')],
      [piece({ index: 0 }, undefined, '{"q"'), piece({ index: 1 }, undefined, ',2]')],
      [piece({ index: 0 }, undefined, ':1}')],
    ];
    assert.deepEqual(made(...pieces), [SEARCH, SUM]);
  });

  it('are told apart by their ids where the number is missing, or 0 for all', () => {
    for (const more of [{}, { index: 0 }, { index: null }]) {
      assert.deepEqual(
        made(
          [piece({ ...more, id: 'a' }, 'search', '{"q"')],
          [piece(more, undefined, ':1}')],
          [piece({ ...more, id: 'b' }, 'sum', '[1')],
          [piece({ ...more, id: 'b' }, undefined, ',2]')],
        ),
        [SEARCH, SUM],
      );
      assert.deepEqual(
        made([piece({ ...more, id: 'a' }, 'search', '{"q":1}'), piece({ ...more, id: 'b' }, 'sum', '[1,2]')]),
        [SEARCH, SUM],
      );
    }
  });

  it('without ids are another where the arguments of the one before are whole', () => {
    for (const id of [undefined, '']) {
      assert.deepEqual(
        made([piece({ index: 0, id }, 'search', '{"q":1}')], [piece({ index: 0, id }, 'search', '{"q":2}')]),
        [
          [undefined, 'search', '{"q":1}'],
          [undefined, 'search', '{"q":2}'],
        ],
      );
      assert.deepEqual(made([piece({ id }, 'search', { q: 1 })], [piece({ id }, 'sum', { of: [1] })]), [
        [undefined, 'search', { q: 1 }],
        [undefined, 'sum', { of: [1] }],
      ]);
    }
  });

  it('have the name once, whether it comes again in each piece, longer in each, or in parts', () => {
    const again = [
      [piece({ index: 0, id: 'a' }, 'search', '{"q"')],
      [piece({ index: 0, id: 'a' }, 'search', ':1}')],
      [piece({ index: 0 }, 'search', '')],
    ];
    assert.deepEqual(made(...again), [SEARCH]);
    assert.deepEqual(
      made(
        [piece({ index: 0, id: 'a' }, 'sea')],
        [piece({ index: 0 }, 'search')],
        [piece({ index: 0 }, '', '{"q":1}')],
      ),
      [SEARCH],
    );
    assert.deepEqual(made([piece({ id: 'a' }, 'sea')], [piece({}, 'rch')], [piece({}, undefined, '{"q":1}')]), [
      SEARCH,
    ]);
  });

  it('are one where each piece has an id of its own, as some servers make them up', () => {
    assert.deepEqual(
      made([piece({ index: 0, id: 'a' }, 'search', '{"q"')], [piece({ index: 0, id: 'x' }, undefined, ':1}')]),
      [SEARCH],
    );
  });

  it('are another under another number, or with another name, though all have one id', () => {
    const two = [
      ['a', 'search', '{"q":1}'],
      ['a', 'sum', '[1]'],
    ];
    for (const index of [0, 1]) {
      assert.deepEqual(
        made([piece({ index: 0, id: 'a' }, 'search', '{"q":1}')], [piece({ index, id: 'a' }, 'sum', '[1]')]),
        two,
      );
    }
  });

  it('are bounded, and read in a time that grows with their length', () => {
    const begun = performance.now();
    const calls = new StreamedCalls();
    for (let count = 0; count < 200_000; count++) {
      calls.add([piece({ index: 0 }, 'search', '{"abc":')]);
    }
    assert.equal(calls.made.length, 1);
    assert.ok(performance.now() - begun < 20_000);
    const many = Array.from({ length: 2000 }, (_, index) => piece({ index }, 'x', '{}'));
    assert.throws(() => made(many), RangeError);
  });

  it('pass over what is no call', () =>
    assert.deepEqual(made([null, 'x', 3, []], [{ index: 0, function: null, id: 'a' }]), [['a', '', '']]));
});
