import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatCounted, splitCommand } from '../../../../src/shared/text/words.ts';

it('a command is read in words: quotes keep spaces and go, and nothing else has a meaning', () => {
  assert.deepEqual(splitCommand('  node  team.mjs --name="two words" \'a "b"\' '), [
    'node',
    'team.mjs',
    '--name=two words',
    'a "b"',
  ]);
  assert.deepEqual(splitCommand('C:\\bin\\node.exe $(rm) `x`; a|b'), ['C:\\bin\\node.exe', '$(rm)', '`x`;', 'a|b']);
  assert.deepEqual(splitCommand(''), []);
  assert.deepEqual(splitCommand('node ""'), ['node', '']);
});

it('one thing is counted in the singular', () =>
  assert.deepEqual([formatCounted(1, 'message'), formatCounted(0, 'message')], ['1 message', '0 messages']));
