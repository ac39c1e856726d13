import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { SearchQuery, StoreWriter } from '../../../../../src/store/write/writer.ts';
import { addRun, filledStore, newMessage } from '../../helpers.ts';

const TEXTS = [
  'Add the numbers: 12+7=19',
  'multiply 12 by 7',
  'the word NEAR stands here',
  'He said "add" twice',
  'Ein schöner Größenvergleich',
  '日本語 の 文',
  'x* is a star',
  'AND OR NOT',
  'def f(x):\n  return x ** 2',
  'ne\u0000ver',
];

function storeOfTexts(t: TestContext): StoreWriter {
  const store = filledStore(t);
  TEXTS.forEach((text, siblingIndex) =>
    store.insertMessage(newMessage({ siblingIndex, text, role: siblingIndex % 2 === 0 ? 'reasoner' : 'actor' })),
  );
  return store;
}

function find(store: StoreWriter, query: string, changes: Partial<SearchQuery> = {}): string[] {
  const { total, messages } = store.searchMessages({ query, offset: 0, limit: 100, ...changes });
  assert.equal(total, messages.length);
  return messages.map((message) => message.text).sort();
}

test('words are found by their beginning, whatever their case and accents', (t) => {
  const store = storeOfTexts(t);
  const cases: readonly [string, readonly number[]][] = [
    ['add', [0, 3]],
    ['ADD numb', [0]],
    ['numb add', [0]],
    ['12', [0, 1]],
    ['12+7', [0]],
    ['12 7', [0, 1]],
    ['schoner', [4]],
    ['grö', [4]],
    ['日本', [5]],
    ['"add"', [0, 3]],
    ['ret x', [8]],
    ['absent', []],
    ['add absent', []],
    ['dd', []],
  ];
  for (const [query, expected] of cases) {
    assert.deepEqual(find(store, query), expected.map((i) => TEXTS[i]).sort(), query);
  }
});

test('nothing that a user can type is an error or an operator', (t) => {
  const store = storeOfTexts(t);
  const cases: readonly [string, readonly number[]][] = [
    ['NEAR', [2]],
    ['NEAR(word stands, 2)', []],
    ['AND', [7]],
    ['AND OR NOT', [7]],
    ['NOT', [7]],
    ['x*', [6, 8]],
    ['x *', [6, 8]],
    ['add OR multiply', []],
    ['body:add', []],
    ['{body} : add', []],
    ['^add', [0, 3]],
    ['-add', [0, 3]],
    ['add + the', [0]],
    ['(add', [0, 3]],
    [' add ', [0, 3]],
    ['+ - add', [0, 3]],
    ['add)', [0, 3]],
    ['', []],
    ['   ', []],
    ['"', []],
    ['""', []],
    ['*', []],
    ['"*"', []],
    ["'", []],
    ['\\', []],
    ['\u0000', []],
    ['add\u0000the', [0]],
    ['\ud83d', []],
    ['a"b', []],
    ['""add""', [0, 3]],
    ["'; DROP TABLE decision; --", []],
    ['%', []],
    ['_', []],
    ['\u{1f600} add', [0, 3]],
  ];
  for (const [query, expected] of cases) {
    assert.deepEqual(find(store, query), expected.map((i) => TEXTS[i]).sort(), JSON.stringify(query));
  }
  const below = [
    '"',
    '*',
    '(',
    ')',
    '^',
    ':',
    '+',
    '-',
    ' ',
    'a',
    'NEAR',
    'AND',
    '\u0000',
    ',',
    '{',
    '}',
    'é',
    '\ud800',
    '/',
    '12',
  ];
  for (let i = 0; i < below.length; i++) {
    for (const second of below) {
      for (const third of below) {
        store.searchMessages({ query: `${below[i] ?? ''}${second}${third}`, offset: 0, limit: 1 });
      }
    }
  }
});

test('search narrows to a run and a role, pages its hits and finds every message of one text', (t) => {
  const store = storeOfTexts(t);
  addRun(store, 'run-2', '2026-02-01');
  const ids = [1, 2, 3].map((iteration) =>
    store.insertMessage(newMessage({ run: 'run-2', iteration, text: 'Add the numbers: 12+7=19' })),
  );
  assert.equal(find(store, 'numbers').length, 4);
  assert.equal(find(store, 'numbers', { run: 'run-2' }).length, 3);
  assert.deepEqual(find(store, 'add', { role: 'actor' }), ['He said "add" twice']);
  assert.deepEqual(find(store, 'add', { role: 'actor', run: 'run-2' }), []);
  const page = store.searchMessages({ query: 'numbers', run: 'run-2', offset: 1, limit: 1 });
  assert.deepEqual([page.total, page.messages.map((message) => message.id)], [3, [ids[1]]]);
});

test('contexts are not searched, unless a message says the same', (t) => {
  const store = filledStore(t);
  store.insertMessage(newMessage({ context: 'only in the prompt', contextKey: '1', text: 'reply' }));
  assert.deepEqual(find(store, 'prompt'), []);
  store.insertMessage(newMessage({ text: 'only in the prompt' }));
  assert.deepEqual(find(store, 'prompt'), ['only in the prompt']);
});

test('more hits than can be ranked are said to be more, newest first', (t) => {
  const store = filledStore(t);
  const ids: number[] = [];
  const say = (count: number): void => {
    store.transaction(() => {
      for (let i = 0; i < count; i++) {
        ids.push(
          store.insertMessage(
            newMessage({
              text: ids.length === 5000 ? 'common common' : `common ${ids.length}`,
              tokens: new Int32Array(0),
              logprobs: new Float32Array(0),
            }),
          ),
        );
      }
    });
  };
  const shown = (query: string, offset: number): unknown => {
    const { total, more, messages } = store.searchMessages({ query, offset, limit: 3 });
    return [total, more, messages.map((message) => message.id)];
  };
  say(10_000);
  assert.deepEqual(store.searchMessages({ query: 'common', offset: 0, limit: 1 }).total, 10_000);
  assert.equal(store.searchMessages({ query: 'common', offset: 0, limit: 1 }).more, false);
  say(1);
  const newest = ids.toReversed();
  assert.deepEqual(shown('common', 0), [10_000, true, newest.slice(0, 3)]);
  assert.deepEqual(shown('common', 3), [10_000, true, newest.slice(3, 6)]);
  // A narrower query is counted and ranked as ever.
  assert.deepEqual(shown('common 10000', 0), [1, false, [ids[10_000]]]);
});
