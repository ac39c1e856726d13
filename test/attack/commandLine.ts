/** Hostile arguments: whatever a command is given, it is parsed, or refused in one sentence of bounded length. */

import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { readArguments } from '../../src/engine/commandLine/arguments.ts';
import { COMMANDS } from '../../src/engine/commandLine/commands.ts';
import type { Declaration } from '../../src/engine/commandLine/declared/declaration.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { c3Apart, makeWorkspace } from '../unit/engine/workspace.ts';
import { seed, tally } from './harness.ts';

const commandLine = tally('command line');

let folder = '';

const PARTS = [
  '--',
  '-',
  '--store',
  '--store=',
  '--run',
  '--run=x',
  '--json',
  '--json=true',
  '--no-json',
  '-j',
  '-abc',
  '--__proto__',
  '--__proto__=1',
  '--constructor',
  '--toString',
  '--override',
  '--override=__proto__.x=1',
  '--overide',
  '--=',
  '--=x',
  '---',
  '',
  ' ',
  '0',
  '-1',
  '1',
  '1e308',
  '9007199254740993',
  'NaN',
  'Infinity',
  '1.5',
  '0x10',
  '１２',
  'x',
  '../..',
  '/dev/null',
  'a'.repeat(50_000),
  `--${'a'.repeat(50_000)}`,
  '\n',
  '\u202e',
  '😀',
  '--x\ny',
  '=',
  'a=b',
];
const given = fc.array(
  fc.oneof(
    fc.constantFrom(...PARTS),
    fc.string({ unit: 'binary', maxLength: 12 }).map((one) => one.replaceAll('\0', '')),
  ),
  { maxLength: 6 },
);

/** A command that takes at most so many arguments. */
const taking = (most: number) =>
  ({
    name: 'x',
    summary: 'Does something.',
    arguments: Object.fromEntries(
      Array.from({ length: most }, (_, index) => [
        `argument${index}`,
        { kind: 'text', value: 'TEXT', optional: true, help: 'A text.' } as const,
      ]),
    ),
    options: {
      store: { kind: 'file', value: 'PATH', help: 'The store.' },
      json: { kind: 'flag', help: 'JSON.' },
      run: { kind: 'text', value: 'RUN', help: 'The run.' },
      override: { kind: 'texts', value: 'KEY=VALUE', help: 'Sets a key.' },
      sample: { kind: 'whole', value: 'N', least: 0, fallback: 7, help: 'At most N.' },
    },
    examples: [],
  }) as const satisfies Declaration;

/** How much is tried. */
export interface CommandLineSizes {
  /** Lists of arguments that are parsed. */
  readonly argumentLists: number;
  /** Commands that are started. */
  readonly commands: number;
}

/** Attacks with arguments, as many as the sizes say. */
export function commandLineAttacks(sizes: CommandLineSizes): void {
  before(async () => {
    folder = await makeWorkspace();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  describe('hostile arguments', () => {
    it('are parsed or refused in one sentence', () => {
      fc.assert(
        fc.property(given, fc.nat(3), (args, most) => {
          try {
            const { store, run, sample: number, ...more } = readArguments(taking(most), args);
            if (Object.keys(more).some((name) => !/^(?:json|override|named|rest|argument\d)$/u.test(name))) {
              commandLine.broken(`${JSON.stringify(args)} gives ${Object.keys(more).join(', ')}`);
            }
            for (const value of [store, run]) {
              if (value !== null && !args.some((one) => one.includes(value))) {
                commandLine.broken(`${JSON.stringify(args)} gives ${value.slice(0, 100)}`);
              }
            }
            if (!Number.isSafeInteger(number) || number < 0) {
              commandLine.broken(`${JSON.stringify(args)} gives ${number}`);
            }
          } catch (error) {
            if (
              !(
                error instanceof C3Error &&
                error.kind === 'input' &&
                /\S[.?`](?: |$)|its options are|mean|see/u.test(error.message)
              )
            ) {
              commandLine.broken(`${JSON.stringify(args).slice(0, 300)} gives ${String(error).slice(0, 300)}`);
            }
          }
          commandLine.held();
        }),
        { seed: seed(), numRuns: sizes.argumentLists },
      );
    });

    it('end a command with one line and exit code 2, and nothing is made', async () => {
      // What each command needs is left out or wrong, so none of them has anything to do.
      const wrong = [
        ['--store', 'none.sqlite', '--\u202ex'],
        ['--nothing\nmore'],
        ['a'.repeat(60_000), 'b', 'c', 'd'],
        ['--store'],
        ['--__proto__=1'],
        ['--run', '', '--constructor'],
      ];
      const commands = ['__proto__', 'a'.repeat(60_000), 'constructor', ...Object.keys(COMMANDS)].slice(
        0,
        sizes.commands,
      );
      for (const [index, command] of commands.entries()) {
        const args = wrong[(index + seed()) % wrong.length] ?? [];
        await commandLine.attempt(`${command.slice(0, 20)} ${JSON.stringify(args).slice(0, 60)}`, async () => {
          const { code, stdout, stderr } = await c3Apart(folder, [command, ...args]);
          if (code !== 2 || stdout !== '' || !/^c3: [^\n]{1,2100}\n$/u.test(stderr)) {
            throw new Error(`${String(code)}: ${stdout.slice(0, 100)}${stderr.slice(0, 300)}`);
          }
        });
      }
    });
  });
}
