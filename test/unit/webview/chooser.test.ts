/** A dropdown whose choices and value change while its user has it open, and what counts as a choice. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeDocument, MadeElement, makeToolkit } from './madeDocument.ts';

makeDocument();
makeToolkit();
const { Chooser } = await import('../../../webview/common/chooser.ts');

const NAMES = ['a', 'b', 'c'].map((name) => [name, name.toUpperCase()] as const);

function desk(): {
  readonly chooser: InstanceType<typeof Chooser>;
  readonly list: MadeElement & { value?: string; open?: boolean };
  readonly reported: string[];
} {
  const reported: string[] = [];
  const chooser = new Chooser('Letter', (value) => reported.push(value), {
    choices: NAMES,
    leave: () => reported.push('left'),
  });
  const list: unknown = chooser.element;
  assert.ok(list instanceof MadeElement);
  return { chooser, list, reported };
}

test('each other value that the user chooses is reported once, and one that was set is not', () => {
  const { chooser, list, reported } = desk();
  assert.equal(list.value, 'a');
  chooser.value = 'b';
  list.fire('keyup', { key: 'Shift' });
  list.fire('change');
  assert.deepEqual(reported, []);
  // At Tab there is no change event.
  list.value = 'c';
  list.fire('keyup', { key: 'Tab' });
  list.fire('change');
  assert.deepEqual(reported, ['c']);
  assert.equal(chooser.value, 'c');
});

test('an open list keeps its options and the one reached until it closes', () => {
  const { chooser, list, reported } = desk();
  const [before] = list.children;
  list.open = true;
  list.value = 'b';
  chooser.choices = [...NAMES, ['d', 'D']];
  chooser.value = 'd';
  assert.deepEqual([list.value, list.children.length, list.children[0] === before], ['b', 3, true]);
  list.fire('keydown', { key: 'Escape' });
  list.open = false;
  list.fire('keyup', { key: 'Escape' });
  assert.deepEqual([list.value, list.children.length, reported], ['d', 4, []]);
});

test('Escape leaves a closed list only', () => {
  const { list, reported } = desk();
  list.open = true;
  list.fire('keydown', { key: 'Escape' });
  assert.deepEqual(reported, []);
  list.open = false;
  list.fire('keydown', { key: 'Escape' });
  assert.deepEqual(reported, ['left']);
});

test('a value that is no choice any more becomes the first, and comes back with its choice', () => {
  const { chooser, list, reported } = desk();
  chooser.value = 'c';
  chooser.choices = NAMES.slice(0, 2);
  assert.deepEqual([chooser.value, list.value], ['a', 'a']);
  chooser.choices = NAMES;
  assert.deepEqual([chooser.value, list.value, reported], ['c', 'c', []]);
});
