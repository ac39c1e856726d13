/** Hostile configurations: any text is a configuration or one plain sentence, and never more work than its length is worth. */
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { C3Error } from '../../src/shared/errors.ts';
import { checkConfig } from '../../src/training/checkConfig.ts';
import { readConfig } from '../../src/training/config.ts';
import { scaled, seed, tally } from './harness.ts';

const configurations = tally('configuration');

/** What YAML, the schema and JavaScript objects each read as something of their own. */
const PARTS = [
  'steps', 'task', 'name', 'python', 'model', 'fanout', 'sampling', 'temperature', 'device', 'webgpu', 'adapter', 'title', 'levels', 'memory', 'credit', 'alpha',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '<<', '&a', '*a', '!!js/function', '!!binary', '!!set', '!!timestamp', '!<tag:x>',
  ': ', ':', '\n', '\n  ', '\n    ', '- ', '? ', '[', ']', '{', '}', ',', '|', '>', '|2', '>-', '"', "'", '\\', '\\x', '\\uD800', '# ', '---\n', '...\n', '%YAML 1.1\n', '%TAG ! x\n',
  '0', '-0', '-1', '1', '1e308', '1e309', '-1e309', '1e-320', '.inf', '-.inf', '.nan', '0x1F', '0o17', '9007199254740993', '123456789012345678901234567890', '~', 'null', 'true', 'yes',
  '\t', '\r', '\r\n', '\u0000', '\u0085', '\u2028', '\uFEFF', '\uD800', '\u202E', '😀',
];
const texts = fc.oneof(
  fc.array(fc.constantFrom(...PARTS), { maxLength: 60 }).map((parts) => parts.join('')),
  fc.array(fc.tuple(fc.constantFrom(...PARTS), fc.oneof(fc.constantFrom(...PARTS), fc.json())), { maxLength: 12 }).map((pairs) => pairs.map(([key, value]) => `${key}: ${value}\n`).join('')),
  fc.json(),
  fc.string({ unit: 'binary', maxLength: 200 }),
);

/** One line of bounded length that names no place in the program. */
function isSentence(error: unknown): boolean {
  return error instanceof C3Error && error.kind === 'input' && error.message.length < 2_000 && !/[\r\n]|\bat .+\.[jt]s:|undefined|\[object/u.test(error.message);
}

/** Says so itself where the text is not held; the work is counted by the caller. */
function read(text: string): void {
  try {
    readConfig(text, 'attack.c3.yaml');
  } catch (error) {
    if (!isSentence(error)) configurations.broken(`${JSON.stringify(text)} gives ${String(error)}`);
  }
  configurations.held();
}

describe('a hostile configuration', () => {
  it('is read, or refused in one sentence', () => {
    fc.assert(fc.property(texts, (text) => read(text)), { seed: seed(), numRuns: scaled(20_000, 1_000) });
  });

  it('is checked in the editor without an error, with places inside the text', () => {
    const property = fc.property(texts, (text) => {
      for (const { start, end, message } of checkConfig(text)) {
        if (!(start >= 0 && start <= end && end <= text.length) || message.includes('\n')) configurations.broken(`${JSON.stringify(text)}: ${start} to ${end}: ${message}`);
      }
      configurations.held();
    });
    fc.assert(property, { seed: seed(), numRuns: scaled(20_000, 1_000) });
  });
});
