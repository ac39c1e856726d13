import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeDocument, MadeElement } from './madeDocument.ts';

makeDocument();
const { createDifference: difference } = await import('../../../webview/transcript/message/difference.ts');

function drawn(before: string, after: string): MadeElement {
  const element: unknown = difference(before, after);
  assert.ok(element instanceof MadeElement);
  return element;
}

test('what went and what came is marked, with words for a screen reader that are not copied', () => {
  const parts = drawn('add 4 to 10', 'multiply 4 by 10').children.map((part) => [part.localName, part.textContent]);
  assert.deepEqual(parts, [
    ['del', ' removed: add'],
    ['ins', ' added: multiply'],
    ['span', ' 4 '],
    ['del', ' removed: to'],
    ['ins', ' added: by'],
    ['span', ' 10'],
  ]);
  const readers = drawn('a', 'b').ofClass('for-readers');
  assert.deepEqual(
    readers.map((element) => element.attributes.get('data-written')),
    ['', ''],
  );
});

test('texts are never markup, and what acts unseen is shown by its code', () => {
  const element = drawn('<img src=x onerror=alert(1)>', '<b>\u202e</b>');
  assert.ok(element.all().every(({ localName }) => ['pre', 'span', 'del', 'ins'].includes(localName)));
  assert.ok(element.textContent.includes('img'));
  assert.ok(!element.textContent.includes('\u202e') && element.textContent.includes('⟨U+202E⟩'));
});
