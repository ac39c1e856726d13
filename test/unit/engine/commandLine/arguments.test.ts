import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readArguments } from '../../../../src/engine/commandLine/arguments.ts';

const OPTIONS = { override: { type: 'string', multiple: true }, store: { type: 'string' } } as const;

function read(...args: string[]) {
  const { values, positionals } = readArguments('run', args, OPTIONS, 1);
  return { override: values['override'], store: values['store'], positionals };
}

it('one --override takes every setting that follows it, in their order', () => {
  assert.deepEqual(read('a.yaml', '--override', 'a=1', 'b.c=2', '--store', 's', '--override', 'a=3', 'd=-4'), {
    override: ['a=1', 'b.c=2', 'a=3', 'd=-4'],
    store: 's',
    positionals: ['a.yaml'],
  });
  assert.deepEqual(read('--override=a=1', 'b=2', 'a.yaml'), {
    override: ['a=1', 'b=2'],
    store: undefined,
    positionals: ['a.yaml'],
  });
});

it('what follows and is no setting, or follows another option or --, is none', () => {
  assert.deepEqual(read('--override', 'a=1', 'a.yaml').positionals, ['a.yaml']);
  assert.deepEqual(read('--override', 'a=1', '--', 'b=2').positionals, ['b=2']);
  assert.deepEqual(read('--override', 'a=1', '--store', 'x=1').store, 'x=1');
  assert.throws(() => read('a.yaml', '--override', 'a=1', 'b.yaml'), /"b.yaml" is one too many/);
  assert.throws(() => read('--store', 's', 'a=1', 'b=2'), /"b=2" is one too many/);
});
