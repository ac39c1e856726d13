/** What `c3 help` and `c3 COMMAND --help` say, and that the declarations behind them are true. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readArguments } from '../../../../src/engine/commandLine/arguments.ts';
import { DECLARED, GROUPS } from '../../../../src/engine/commandLine/commands.ts';
import type { Declaration } from '../../../../src/engine/commandLine/declared/declaration.ts';
import { formatCommandHelp, formatOverview, formatUsage } from '../../../../src/engine/commandLine/help.ts';

const SOURCES = join(import.meta.dirname, '..', '..', '..', '..', 'src', 'engine', 'commandLine');
/** The functions of the commands and of what they share, each as its text. */
const FUNCTIONS = globSync('*.ts', { cwd: SOURCES }).flatMap((name) =>
  readFileSync(join(SOURCES, name), 'utf8').split(/\n(?=(?:export )?(?:async )?(?:function|const) )/u),
);

/** Whether a function reads a value that a command is given: `given.name`, or `name` in a pattern of all of it. */
const reads = (text: string, name: string): boolean =>
  new RegExp(`\\bgiven\\.${name}\\b|\\{[^{}]*\\b${name}\\b[^{}]*\\}(?: = given\\b|: \\w*Given\\b)`, 'u').test(text);

const named = (name: string): Declaration => {
  const found = DECLARED.find((one) => one.name === name);
  assert.ok(found);
  return found;
};

/** Lines that are wider than a terminal, unless they are one word that has no place to break. */
const tooWide = (text: string, width: number): string[] =>
  text.split('\n').filter((line) => line.length > width && line.trim().includes(' '));

describe('help', () => {
  for (const width of [40, 80, 200]) {
    it(`fits ${width} columns`, () => {
      assert.deepEqual(tooWide(formatOverview('0.0.0', GROUPS, width), width), []);
      for (const declared of DECLARED) {
        assert.deepEqual(tooWide(formatCommandHelp(declared, width), width), [], declared.name);
      }
    });
  }

  it('has one line for each command on a terminal of 80 columns, and stays one where it is wider', () => {
    const lines = formatOverview('0.0.0', GROUPS, 80).split('\n');
    for (const { name, summary } of DECLARED) {
      assert.ok(lines.includes(`  ${name.padEnd(12)}${summary}`), name);
    }
    assert.ok(formatOverview('0.0.0', GROUPS, 200).split('\n').length < lines.length);
  });

  it('says what a command needs, what each option does and what it is unless given', () => {
    assert.equal(
      formatUsage(named('export')),
      'c3 export --run RUN --format buckets|tuples|adapter|model --out PATH [OPTION ...]',
    );
    assert.equal(formatUsage(named('record')), 'c3 record [OPTION ...] -- PROGRAM [ARGUMENT ...]');
    assert.equal(formatUsage(named('completion')), 'c3 completion bash|zsh|fish');
    const wide = formatCommandHelp(named('keep'), 200);
    assert.match(wide, /^ {2}--draws N +Draws N messages in its place\. Default: 100\.$/mu);
    assert.match(wide, /^ {2}--expect held\|fixed +The expected .* Default: held\.$/mu);
    assert.match(
      formatCommandHelp(named('credit'), 200),
      /^ {2}--estimator NAME +The .*\. One of loo, loo_two_level, full_mean, .*\.$/mu,
    );
    assert.match(
      formatCommandHelp(named('keep'), 40),
      /^ {2}--draws N\n {6}Draws N messages in its place\.\n {6}Default: 100\./mu,
    );
  });
});

describe('a declaration', () => {
  it('has a name of its own, and sentences', () => {
    assert.equal(new Set(DECLARED.map(({ name }) => name)).size, DECLARED.length);
    for (const { name, summary, details, arguments: args, options, rest, examples } of DECLARED) {
      const sentences = [summary, ...Object.values({ ...args, ...options }).map(({ help }) => help)];
      for (const text of [...sentences, ...examples.map(([, does]) => does), details ?? '.', rest?.help ?? '.']) {
        assert.match(text, /\.$/u, name);
      }
      assert.deepEqual(
        Object.keys(args).filter((key) => Object.hasOwn(options, key)),
        [],
        name,
      );
    }
  });

  it('has examples that the command takes', () => {
    for (const declared of DECLARED.filter(({ name }) => name !== 'completion')) {
      for (const [line] of declared.examples) {
        const [program, name, ...args] = line.split(' ');
        assert.deepEqual([program, name], ['c3', declared.name]);
        assert.doesNotThrow(() => readArguments(declared, args), line);
      }
    }
  });

  it('has no option that its command does not read', async () => {
    const modules = await Promise.all(
      globSync('*.ts', { cwd: join(SOURCES, 'declared') }).map(
        (name) => import(join(SOURCES, 'declared', name)) as Promise<Readonly<Record<string, unknown>>>,
      ),
    );
    const shared = FUNCTIONS.filter((text) => /\b(?:Options|Store|Answer)Given\b/u.test(text));
    for (const declared of DECLARED) {
      const [constant] = modules.flatMap(Object.entries).find(([, value]) => value === declared) ?? [''];
      const own = FUNCTIONS.filter((text) => text.includes(`Given<typeof ${constant}>`));
      for (const name of Object.keys({ ...declared.options, ...declared.arguments })) {
        assert.ok(
          [...own, ...shared].some((text) => reads(text, name)) || declared.name === 'completion',
          `c3 ${declared.name} does not read ${name}`,
        );
      }
    }
  });
});
