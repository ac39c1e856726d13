import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WINDOW, type MarkedRow } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { RowWindows } from '../../../webview/common/rowWindows.ts';
import { listPlacesAhead } from '../../../webview/transcript/tree/treeSight.ts';

const KEPT = 64;

function rows(offset: number, length = WINDOW): readonly MarkedRow[] {
  return Array.from({ length }, (_, position) => ({
    index: offset + position,
    depth: 1,
    parent: 0,
    descendants: 0,
    message: offset + position,
    key: offset + position,
    lane: null,
    role: 'actor',
    turn: 0,
    position: 1,
    siblings: 1,
    text: '',
    finish: 'end',
    return: null,
    leaves: 0,
    credit: null,
    branch: false,
    match: true,
    verification: null,
    other: null,
    events: null,
    outcome: null,
  }));
}

test('a window is asked for once, when one of its rows is first needed', () => {
  const asked: number[] = [];
  const windows = new RowWindows<MarkedRow>(WINDOW, KEPT, (_, offset) => asked.push(offset));
  windows.reset(1);
  assert.equal(windows.get(WINDOW + 5), undefined);
  assert.equal(windows.get(WINDOW + 6), undefined);
  assert.equal(windows.peek(0), undefined);
  assert.deepEqual(asked, [WINDOW]);
  assert.ok(windows.accept(1, WINDOW, rows(WINDOW)));
  assert.equal(windows.get(WINDOW + 5)?.index, WINDOW + 5);
  assert.deepEqual(asked, [WINDOW]);
});

test('rows of an older layout are refused, and another layout is asked for anew', () => {
  const asked: (readonly [number, number])[] = [];
  const windows = new RowWindows<MarkedRow>(WINDOW, KEPT, (revision, offset) => asked.push([revision, offset]));
  windows.reset(1);
  windows.get(0);
  windows.reset(2);
  assert.equal(windows.accept(1, 0, rows(0)), false);
  assert.equal(windows.get(0), undefined);
  assert.deepEqual(asked, [
    [1, 0],
    [2, 0],
  ]);
  windows.accept(2, 0, rows(0));
  windows.reset(2);
  assert.equal(windows.get(0)?.index, 0, 'the same layout keeps its rows');
});

test('of many windows the ones looked at last are kept', () => {
  let asked = 0;
  const windows = new RowWindows<MarkedRow>(WINDOW, KEPT, () => {
    asked++;
  });
  windows.reset(1);
  windows.accept(1, 0, rows(0));
  for (let number = 1; number < 100; number++) {
    windows.accept(1, number * WINDOW, rows(number * WINDOW));
    assert.equal(windows.get(0)?.index, 0);
  }
  assert.equal(asked, 0);
  assert.equal(windows.peek(WINDOW), undefined, 'one that nobody looked at is gone');
  assert.equal(windows.peek(99 * WINDOW)?.index, 99 * WINDOW);
});

test('the windows ahead are those on the way, nearest first, and none beyond the ends', () => {
  assert.deepEqual(listPlacesAhead(1000, 1040, 100_000, true), [1039 + WINDOW, 1039 + 2 * WINDOW, 1039 + 3 * WINDOW]);
  assert.deepEqual(listPlacesAhead(1000, 1040, 100_000, false), [1000 - WINDOW, 1000 - 2 * WINDOW, 1000 - 3 * WINDOW]);
  assert.deepEqual(listPlacesAhead(WINDOW + 50, WINDOW + 90, 100_000, false), [50, 0]);
  assert.deepEqual(listPlacesAhead(0, 40, 1000, false), [], 'above the first row there is none');
  assert.deepEqual(listPlacesAhead(0, 40, 40, true), [], 'everything is in sight');
  assert.deepEqual(listPlacesAhead(0, 40, 300, true), [239, 299]);
});
