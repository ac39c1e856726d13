import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitByHits } from '../../../webview/transcript/highlight.ts';
import { findTreeCommand, findShownKey, TREE_KEYS, TypeAhead } from '../../../webview/transcript/keys.ts';
import { HitSteps, findStep } from '../../../webview/transcript/search/hitSearch.ts';

function press(key: string): {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
} {
  return { key, ctrlKey: false, altKey: false, metaKey: false };
}

test('steps go to the next and the previous hit from any row, around the ends', () => {
  const rows = [3, 7, 9];
  assert.deepEqual(
    [0, 3, 5, 9, 12].map((row) => findStep(rows, row, 1)),
    [0, 1, 1, 0, 0],
  );
  assert.deepEqual(
    [0, 3, 5, 9, 12].map((row) => findStep(rows, row, -1)),
    [2, 2, 0, 1, 2],
  );
  assert.equal(findStep([], 4, 1), null);
});

test('steps asked for while an answer is on the way are not lost', () => {
  const found = { query: 'x', rows: [3, 7, 9], total: 3, hidden: 0, elsewhere: 0 };
  const steps = new HitSteps();
  assert.equal(steps.step(1, 0), null, 'nothing was searched for');
  steps.asked();
  assert.equal(steps.step(1, 0), null);
  assert.equal(steps.step(-1, 0), null);
  assert.equal(steps.take(found), -1, 'the last one is made when the hits are here');
  assert.equal(steps.step(1, 0), 3);
  // The row that has the keyboard is still the one from before.
  assert.equal(steps.step(1, 0), 7);
  steps.arrived(3);
  assert.equal(steps.step(1, 3), 9);
  steps.arrived(9);
  assert.equal(steps.step(-1, 5), 3, 'the keyboard went elsewhere meanwhile');
  steps.asked();
  steps.failed();
  assert.equal(steps.step(1, 3), 7, 'the hits from before');
  steps.asked();
  assert.equal(steps.take({ ...found, rows: [] }), null);
  assert.equal(steps.step(1, 3), null);
});

test('words that begin as a word of the query are marked, without case and accents; the text stays whole', () => {
  const text = 'Café: the PLAN planned <b>plan</b>, replan';
  const stretches = splitByHits(text, 'plan cafe');
  assert.deepEqual(
    stretches.filter(({ hit }) => hit).map((stretch) => stretch.text),
    ['Café', 'PLAN', 'planned', 'plan'],
  );
  assert.equal(stretches.map((stretch) => stretch.text).join(''), text);
  assert.deepEqual(splitByHits(text, ' ** '), [{ text, hit: false }]);
});

test('no key has two commands, and a key with Ctrl has none', () => {
  const keys = TREE_KEYS.flatMap((binding) => binding.keys);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(findTreeCommand(press('c')), 'compare');
  assert.deepEqual(
    (['written', 'costliest', 'keys'] as const).map((command) =>
      findTreeCommand(press(findShownKey(command).toLowerCase())),
    ),
    ['written', 'costliest', 'keys'],
    'what is written beside a button is its key',
  );
  assert.equal(findTreeCommand({ ...press('c'), ctrlKey: true }), undefined);
  assert.equal(findTreeCommand(press('C')), undefined, 'a capital letter begins typing ahead');
});

test('letters typed one after another are one word; a pause begins another', () => {
  const typing = new TypeAhead();
  assert.equal(typing.add(press('R'), 0), 'r');
  assert.ok(typing.takes(press('e'), 500));
  assert.ok(typing.takes(press('+'), 500));
  assert.ok(!typing.takes(press('?'), 500), 'the sheet of keys opens at any time');
  assert.ok(!typing.takes(press('/'), 500), 'and so does the search');
  assert.ok(!typing.takes(press('ArrowDown'), 500));
  assert.equal(typing.add(press('e'), 500), 're');
  assert.equal(typing.add(press(' '), 900), 're ');
  assert.equal(typing.add(press('a'), 5000), 'a');
  assert.equal(typing.add(press('ArrowDown'), 5100), null);
  assert.equal(typing.add(press(' '), 9000), null, 'a blank begins no word');
  assert.equal(typing.add({ ...press('x'), metaKey: true }, 9000), null);
  typing.add(press('a'), 9100);
  typing.end();
  assert.equal(typing.add(press('R'), 9150), 'r', 'a key that did something else has ended the word');
});
