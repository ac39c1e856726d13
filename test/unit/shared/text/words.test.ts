import assert from 'node:assert/strict';
import { it } from 'node:test';
import { counted, words } from '../../../../src/shared/text/words.ts';

it('a command is read in words: quotes keep spaces and go, and nothing else has a meaning', () => {
  assert.deepEqual(words('  node  team.mjs --name="two words" \'a "b"\' '), [
    'node',
    'team.mjs',
    '--name=two words',
    'a "b"',
  ]);
  assert.deepEqual(words('C:\\bin\\node.exe $(rm) `x`; a|b'), ['C:\\bin\\node.exe', '$(rm)', '`x`;', 'a|b']);
  assert.deepEqual(words(''), []);
  assert.deepEqual(words('node ""'), ['node', '']);
});

it('one thing is counted in the singular', () =>
  assert.deepEqual([counted(1, 'message'), counted(0, 'message')], ['1 message', '0 messages']));
