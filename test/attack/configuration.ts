/**
 * Hostile configurations: any text is a configuration or one plain sentence, and never more work than its length is
 * worth.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { C3Error } from '../../src/shared/errors.ts';
import { MAX_YAML_CHARACTERS } from '../../src/shared/text/yaml.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import { checkConfig } from '../../src/training/config/checkConfig.ts';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { growth, MOST_GROWTH, seed, tally } from './harness.ts';

const configurations = tally('configuration');

/** What YAML, the schema and JavaScript objects each read as something of their own. */
const PARTS = [
  'steps',
  'task',
  'name',
  'python',
  'model',
  'fanout',
  'sampling',
  'temperature',
  'device',
  'webgpu',
  'adapter',
  'title',
  'levels',
  'memory',
  'credit',
  'alpha',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '<<',
  '&a',
  '*a',
  '!!js/function',
  '!!binary',
  '!!set',
  '!!timestamp',
  '!<tag:x>',
  ': ',
  ':',
  '\n',
  '\n  ',
  '\n    ',
  '- ',
  '? ',
  '[',
  ']',
  '{',
  '}',
  ',',
  '|',
  '>',
  '|2',
  '>-',
  '"',
  "'",
  '\\',
  '\\x',
  '\\uD800',
  '# ',
  '---\n',
  '...\n',
  '%YAML 1.1\n',
  '%TAG ! x\n',
  '0',
  '-0',
  '-1',
  '1',
  '1e308',
  '1e309',
  '-1e309',
  '1e-320',
  '.inf',
  '-.inf',
  '.nan',
  '0x1F',
  '0o17',
  '9007199254740993',
  '123456789012345678901234567890',
  '~',
  'null',
  'true',
  'yes',
  '\t',
  '\r',
  '\r\n',
  '\u0000',
  '\u0085',
  '\u2028',
  '\uFEFF',
  '\uD800',
  '\u202E',
  '😀',
];
const texts = fc.oneof(
  fc.array(fc.constantFrom(...PARTS), { maxLength: 60 }).map((parts) => parts.join('')),
  fc
    .array(fc.tuple(fc.constantFrom(...PARTS), fc.oneof(fc.constantFrom(...PARTS), fc.json())), { maxLength: 12 })
    .map((pairs) => pairs.map(([key, value]) => `${key}: ${value}\n`).join('')),
  fc.json(),
  fc.string({ unit: 'binary', maxLength: 200 }),
);

/** One line of bounded length that names no place in the program. */
function isSentence(error: unknown): boolean {
  return (
    error instanceof C3Error &&
    error.kind === 'input' &&
    error.message.length < 2_000 &&
    !/[\r\n]|\bat .+\.[jt]s:|undefined|\[object/u.test(error.message)
  );
}

/** Says so itself where the text is not held; the work is counted by the caller. */
function read(text: string, overrides: readonly string[] = []): void {
  try {
    readConfig(text, 'attack.c3.yaml', overrides);
  } catch (error) {
    if (!isSentence(error)) {
      configurations.broken(`${JSON.stringify(text)} ${JSON.stringify(overrides)} gives ${String(error)}`);
    }
  }
  configurations.held();
}

/** Texts of a length that cost the parser more than others of it. */
const HEAVY: Readonly<Record<string, (length: number) => string>> = {
  'different keys': (length) => Array.from({ length: length / 10 }, (_, index) => `k${index}: 1\n`).join(''),
  'different keys of a section': (length) =>
    `task:\n${Array.from({ length: length / 12 }, (_, index) => `  k${index}: 1\n`).join('')}`,
  'different keys in braces': (length) =>
    `{${Array.from({ length: length / 10 }, (_, index) => `k${index}: 1,`).join('')}}`,
  'one section by many names': (length) =>
    `task: &a {${Array.from({ length: length / 20 }, (_, index) => `k${index}: 1,`).join('')}}\nsampling: *a\nmemory: *a\nppo: *a\ncredit: *a\n`,
  'the same key': (length) => 'a: 1\n'.repeat(length / 5),
  'open brackets': (length) => '['.repeat(length),
  'keys that are keys': (length) => '? '.repeat(length / 2),
  'compact lists': (length) => '- '.repeat(length / 2),
  tags: (length) => '!a '.repeat(length / 3),
  anchors: (length) => '&a '.repeat(length / 3),
  aliases: (length) => `a: &a 1\nb: [${'*a,'.repeat(length / 3)}]`,
  'wrong items': (length) => `fanout: [${'a,'.repeat(length / 2)}]`,
  documents: (length) => '---\n'.repeat(length / 4),
  'lines without a key': (length) => `a: ${'|\n'.repeat(length / 2)}`,
  quotes: (length) => '"'.repeat(length),
};

/** How much is tried. */
export interface ConfigurationSizes {
  /** Texts of each kind. */
  readonly texts: number;
  /** Kinds of text that cost the parser more than others. */
  readonly heavy: number;
  /** Characters of the shortest text whose time is taken. */
  readonly length: number;
}

/** Attacks with configurations, as many as the sizes say. */
export function configurationAttacks(sizes: ConfigurationSizes): void {
  describe('a hostile configuration', () => {
    it('is read, or refused in one sentence', () => {
      fc.assert(
        fc.property(texts, (text) => read(text)),
        { seed: seed(), numRuns: sizes.texts },
      );
    });

    it('is checked in the editor without an error, with places inside the text', () => {
      const property = fc.property(texts, (text) => {
        for (const { start, end, message } of checkConfig(text)) {
          if (!(start >= 0 && start <= end && end <= text.length) || message.includes('\n')) {
            configurations.broken(`${JSON.stringify(text)}: ${start} to ${end}: ${message}`);
          }
        }
        configurations.held();
      });
      fc.assert(property, { seed: seed(), numRuns: sizes.texts });
    });

    it('cannot reach an object of the program through an override', () => {
      const keys = fc
        .array(fc.constantFrom(...PARTS.map((part) => part.trim()), 'x'), { minLength: 1, maxLength: 5 })
        .map((path) => path.join('.'));
      const overrides = fc.array(
        fc.tuple(keys, fc.constantFrom(...PARTS)).map(([key, value]) => `${key}=${value}`),
        { minLength: 1, maxLength: 4 },
      );
      fc.assert(
        fc.property(overrides, (given) => read('', given)),
        { seed: seed(), numRuns: sizes.texts },
      );
      assert.equal(Object.keys(Object.prototype).length, 0);
      assert.equal(({} as { steps?: unknown }).steps, undefined);
    });

    it('takes time that grows with its length alone, as configuration, in the editor and as protocol', () => {
      for (const [name, make] of Object.entries(HEAVY).slice(0, sizes.heavy)) {
        const readers: readonly ((text: string) => unknown)[] = [
          (text) => read(text),
          checkConfig,
          (text) => assert.throws(() => parseProtocol(text, 'attack'), isSentence),
        ];
        for (const reader of readers) {
          const ratio = growth(sizes.length, (length) => reader(make(length)));
          if (ratio > MOST_GROWTH) {
            configurations.broken(`${name}: ten times the text takes ${ratio.toFixed(0)} times as long`);
          }
          configurations.held();
        }
      }
    });

    it('of 256 KB is read or refused in seconds', () => {
      for (const [name, make] of Object.entries(HEAVY).slice(0, sizes.heavy)) {
        const before = process.cpuUsage();
        read(make(MAX_YAML_CHARACTERS).slice(0, MAX_YAML_CHARACTERS));
        const seconds = process.cpuUsage(before).user / 1e6;
        if (seconds > 8) {
          configurations.broken(`${name}: 256 KB took ${seconds.toFixed(1)} s`);
        }
        configurations.held();
      }
      read('x'.repeat(MAX_YAML_CHARACTERS + 1));
    });

    it('cannot freeze a reader with keys that are keys, however deep', () => {
      for (const depth of [2, 16, 30, 60, 64, 65, 200, 1_000, 5_000]) {
        for (const text of [
          `${'? '.repeat(depth)}a`,
          `${'{? '.repeat(depth)}a${'}'.repeat(depth)}`,
          `${'? - '.repeat(depth)}a`,
          `${'['.repeat(depth)}${']'.repeat(depth)}`,
          `a: ${'{a: '.repeat(depth)}${'}'.repeat(depth)}`,
        ]) {
          read(text);
          checkConfig(text);
        }
      }
    });

    it('cannot multiply itself by aliases', () => {
      const bomb = `a: &l0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 12 }, (_, level) => `b${level}: &l${level + 1} [${`*l${level}, `.repeat(10)}]\n`).join('')}`;
      read(bomb);
      read(`fanout: ${'&a '.repeat(1)}[*a]`);
      read('task: &t {name: python, levels: *t}');
      checkConfig(bomb);
      configurations.held();
    });
  });
}
