/** Hostile protocols: a stored run brings its protocol along, and an editor reads it to draw it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { C3Error } from '../../src/shared/errors.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import { tally } from './harness.ts';

const protocols = tally('protocols');
/** The longest that is read. */
const LONGEST = 1 << 18;
/** Of processor time: several times what each takes on a slow machine; comparing each key with all others took more. */
const MOST_MILLISECONDS = 6_000;

const list = (length: number, of: (index: number) => unknown): string =>
  JSON.stringify(Array.from({ length }, (_, index) => of(index)));

const SHAPES: Readonly<Record<string, () => string>> = {
  'many keys': () =>
    `{${Array.from({ length: LONGEST / 12 }, (_, index) => `"k${index}":1`).join(',')}`.slice(0, LONGEST - 20) + '}',
  'many lines of keys': () => Array.from({ length: LONGEST / 11 }, (_, index) => `k${index}: 1`).join('\n'),
  'everybody sees everybody before': () =>
    list(270, (index) => ({
      role: `r${index}`,
      prompt: 'x',
      depends_on: Array.from({ length: index }, (_, other) => `r${other}`),
    })),
  'a deep graph': () =>
    list(900, (index) => ({
      role: `r${index}`,
      prompt: 'x',
      depends_on: Array.from({ length: Math.min(index, 36) }, (_, other) => `r${index - 1 - other}`),
    })),
  'as many turns as are possible': () => list(1000, (index) => ({ role: `r${index}`, prompt: 'x'.repeat(200) })),
  'names of nobody': () =>
    list(1, () => ({
      role: 'r',
      prompt: 'x',
      depends_on: Array.from({ length: LONGEST / 10 }, (_, index) => `z${index}`),
    })).slice(0, LONGEST),
  aliases: () => `- &a x\n${'- *a\n'.repeat(LONGEST / 6)}`,
  'nested mappings': () => 'a: '.repeat(LONGEST / 4),
  'keys of 400,000 characters': () =>
    Array.from({ length: 33_000 }, (_, index) => `k${10_000 + index}: 123`).join('\n'),
  'too long': () => '#'.repeat(LONGEST + 1),
};

describe('a hostile protocol', () => {
  for (const [what, make] of Object.entries(SHAPES)) {
    it(`is read or refused soon: ${what}`, async () => {
      const text = make();
      await protocols.attempt(what, () => {
        const began = process.cpuUsage();
        try {
          assert.ok(parseProtocol(text, 'attack.json').occurrences.length > 0);
        } catch (error) {
          assert.ok(error instanceof C3Error && error.kind === 'input' && !error.message.includes('\n'), String(error));
        }
        const { user, system } = process.cpuUsage(began);
        const took = (user + system) / 1000;
        assert.ok(took < MOST_MILLISECONDS, `${Math.round(took)} ms of processor time for ${text.length} characters`);
      });
    });
  }

  it('is refused where a key is given twice, however deep', async () => {
    for (const text of [
      'a: 1\na: 2',
      '{"roles": [{"role": "r", "prompt": "x", "prompt": "y"}]}',
      '- {role: r, prompt: x, "role": y}',
    ]) {
      await protocols.attempt(text, () => {
        assert.throws(
          () => parseProtocol(text, 'attack.yaml'),
          (error) => error instanceof C3Error && /Map keys must be unique at line/.test(error.message),
        );
      });
    }
  });
});
