/** What of the Runs view is drawn again: an item whose words changed alone, the whole list where its items did. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_FILTER } from '../../../../src/extension/sidebar/runsFilter.ts';
import { findChangedRuns, isSameList, type List } from '../../../../src/extension/sidebar/runsList.ts';
import { listChildren, Limits } from '../../../../src/extension/sidebar/runsModel.ts';
import { addRun, temporaryStore } from '../storeFixture.ts';

const store = temporaryStore();
addRun(store.writer, 'first');
addRun(store.writer, 'second', '2026-02-02T00:00:00.000Z');
const children = listChildren(store.writer, null, new Limits(), NO_FILTER);
store.remove();

const list = (over: Partial<List> = {}): List => ({
  children,
  hasRuns: true,
  error: null,
  words: ['2 of 3 steps', 'done'],
  ...over,
});
const more: List['children'][number] = { kind: 'more', id: 'more', list: 'runs', parent: null, left: 1 };

describe('a list of the Runs view', () => {
  it('has nothing to draw where all is as it was, an error too', () => {
    for (const same of [{}, { error: new Error('Busy.') }]) {
      assert.deepEqual(findChangedRuns(list(same), list(same)), []);
      assert.equal(isSameList(list(same), list(same)), true);
    }
  });

  it('draws the runs whose words changed, and no other', () => {
    const now = list({ words: ['3 of 3 steps', 'done'] });
    assert.deepEqual(findChangedRuns(list(), now), [children[0]]);
    assert.equal(isSameList(list(), now), false);
  });

  for (const [what, over] of [
    ['another item', { children: [...children, more], words: ['2 of 3 steps', 'done', 'more'] }],
    ['fewer', { children: children.slice(1), words: ['done'] }],
    ['another order', { children: children.toReversed() }],
    ['an error', { error: new Error('Busy.') }],
    ['the first run of all', { hasRuns: false }],
  ] as const) {
    it(`draws the whole list for ${what}`, () => {
      assert.equal(findChangedRuns(list(), list(over)), null);
      assert.equal(isSameList(list(), list(over)), false);
    });
  }

  it('draws the whole list for another error, and for words of an item that is no run', () => {
    assert.equal(findChangedRuns(list({ error: new Error('Busy.') }), list({ error: new Error('Gone.') })), null);
    const before = list({ children: [more], words: ['1 more'] });
    assert.equal(findChangedRuns(before, { ...before, words: ['2 more'] }), null);
  });
});
