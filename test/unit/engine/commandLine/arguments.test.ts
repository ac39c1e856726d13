import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readArguments } from '../../../../src/engine/commandLine/arguments.ts';
import type { Declaration } from '../../../../src/engine/commandLine/declared/declaration.ts';

/** A command with an option and an argument of every kind. */
const SAIL = {
  name: 'sail',
  summary: 'Sails.',
  arguments: { place: { kind: 'file', value: 'PLACE', optional: true, help: 'Where to.' } },
  options: {
    override: { kind: 'texts', value: 'KEY=VALUE', help: 'Sets a key.' },
    store: { kind: 'file', value: 'PATH', fallback: 'usual', help: 'The store.' },
    atMost: { kind: 'whole', value: 'N', least: 1, fallback: 7, help: 'At most N miles.' },
    load: { kind: 'amount', value: 'X', least: 0, help: 'X tons.' },
    wind: { kind: 'choice', choices: ['north', 'south'], help: 'The wind.' },
    fast: { kind: 'flag', help: 'Fast.' },
  },
  examples: [],
} as const satisfies Declaration;

/** A command that needs what it takes. */
const DOCK = {
  name: 'dock',
  summary: 'Docks.',
  arguments: {
    berth: { kind: 'row', value: 'BERTH', help: 'The number of a berth. It is painted on the quay.' },
    side: { kind: 'choice', choices: ['port', 'starboard'], help: 'The side of the ship.' },
  },
  options: {
    rope: { kind: 'text', value: 'ROPE', required: true, help: 'The rope that holds.' },
    knot: { kind: 'choice', choices: ['bowline', 'hitch'], required: true, help: 'The knot.' },
  },
  rest: { value: 'SIGNAL ...', help: 'What is signaled.' },
  examples: [],
} as const satisfies Declaration;

function read(...args: string[]) {
  const { override, store, place } = readArguments(SAIL, args);
  return { override, store, place };
}

it('one --override takes every setting that follows it, in their order', () => {
  assert.deepEqual(read('a.yaml', '--override', 'a=1', 'b.c=2', '--store', 's', '--override', 'a=3', 'd=-4'), {
    override: ['a=1', 'b.c=2', 'a=3', 'd=-4'],
    store: 's',
    place: 'a.yaml',
  });
  assert.deepEqual(read('--override=a=1', 'b=2', 'a.yaml'), {
    override: ['a=1', 'b=2'],
    store: 'usual',
    place: 'a.yaml',
  });
});

it('what follows and is no setting, or follows another option or --, is none', () => {
  assert.equal(read('--override', 'a=1', 'a.yaml').place, 'a.yaml');
  assert.equal(read('--override', 'a=1', '--', 'b=2').place, 'b=2');
  assert.equal(read('--override', 'a=1', '--store', 'x=1').store, 'x=1');
  assert.throws(() => read('a.yaml', '--override', 'a=1', 'b.yaml'), /"b.yaml" is one too many/);
  assert.throws(() => read('--store', 's', 'a=1', 'b=2'), /"b=2" is one too many/);
});

it('options have values of their kinds, and know whether they were named', () => {
  const left = readArguments(SAIL, []);
  const { named, ...values } = left;
  assert.deepEqual(values, {
    place: null,
    override: [],
    store: 'usual',
    atMost: 7,
    load: null,
    wind: null,
    fast: false,
    rest: [],
  });
  assert.equal(named.has('atMost'), false);
  const given = readArguments(SAIL, ['--at-most', '3', '--load=1.5', '--wind', 'south', '--fast', '--store=']);
  assert.deepEqual([given.atMost, given.load, given.wind, given.fast, given.store], [3, 1.5, 'south', true, '']);
  assert.deepEqual([given.named.has('atMost'), given.named.has('override')], [true, false]);
});

it('a negative number is the value of the option before it, and of no flag', () => {
  const taken = readArguments(DOCK, ['1', 'port', '--rope', '-1.5', '--knot', 'hitch', '--', '--rope', '-2']);
  assert.deepEqual([taken.rope, taken.rest], ['-1.5', ['--rope', '-2']]);
  assert.throws(() => readArguments(SAIL, ['--fast', '-1']), /c3 sail: Unknown option '-1'/);
});

it('a wrong value is refused in a sentence that says what is right', () => {
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['--at-most', '0'], /^--at-most needs a whole number of at least 1, not "0"\.$/],
    [['--at-most', '1e1'], /^--at-most needs a whole number of at least 1, not "1e1"\.$/],
    [['--load', 'much'], /^--load must be a number of at least 0, such as 0\.25, not "much"\.$/],
    [['--load=-1'], /^--load must be a number of at least 0/],
    [['--load', ' '], /^--load must be a number/],
    [['--wind', 'nort'], /^--wind is north or south, not "nort"; did you mean north\?$/],
    [['--wind', 'sideways'], /^--wind is north or south, not "sideways"\.$/],
    [['--atMost', '1'], /^c3 sail has no option --atMost; did you mean --at-most\?$/],
    [['--fast=1'], /^c3 sail: Option '--fast' does not take an argument; see `c3 sail --help`\.$/],
    [['--constructor'], /^c3 sail has no option --constructor; its options are --override, --store, --at-most/],
  ];
  for (const [args, says] of wrong) {
    assert.throws(() => readArguments(SAIL, args), { kind: 'input', message: says }, args.join(' '));
  }
});

it('what a command needs is asked for with its own sentence', () => {
  const needs: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /^c3 dock needs the number of a berth, for example `c3 dock 17`\.$/],
    [['0'], /^c3 dock needs the number of a berth/],
    [['3'], /^c3 dock needs the side of the ship\.$/],
    [['3', 'stern'], /^SIDE is port or starboard, not "stern"\.$/],
    [['3', 'port'], /^c3 dock needs --rope ROPE: the rope that holds\.$/],
    [['3', 'port', '--rope', 'r'], /^c3 dock needs --knot with one of bowline, hitch\.$/],
  ];
  for (const [args, says] of needs) {
    assert.throws(() => readArguments(DOCK, args), { kind: 'input', message: says }, args.join(' '));
  }
  const given = readArguments(DOCK, ['3', 'port', '--rope', 'r', '--knot', 'hitch', '--', '--rope', '5']);
  assert.deepEqual([given.berth, given.side, given.rest], [3, 'port', ['--rope', '5']]);
});
