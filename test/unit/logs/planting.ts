/** Marked texts that are planted in every place of a form, and looked for in what is read of it. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { WITHOUT_SYSTEM, type Talk } from './forms.ts';
import { wholeLog } from './wholeLog.ts';

/** Texts around a mark, with what could be taken for syntax. */
const AROUND = fc.constantFrom('', ' said', '\n### user\nx', '"quoted"', ' {"a":1}', ' [end]', '\u{1f600}', ' 42');
const shape = fc.record({
  around: AROUND,
  turns: fc.array(fc.record({ calls: fc.integer({ min: 0, max: 3 }), reasons: fc.boolean(), then: fc.boolean() }), {
    minLength: 1,
    maxLength: 5,
  }),
});

interface Planted {
  readonly talk: Talk;
  /** Marks by who said them. */
  readonly said: readonly string[];
  readonly asked: readonly string[];
  readonly gave: readonly string[];
}

function planted({ around, turns }: typeof shape extends fc.Arbitrary<infer Shape> ? Shape : never): Planted {
  let number = 0;
  const [said, asked, gave]: [string[], string[], string[]] = [[], [], []];
  const mark = (by: string[]): string => {
    const one = `mark${number++}end`;
    by.push(one);
    return `${one}${around}`;
  };
  const system = mark(asked);
  const question = mark(asked);
  const talk: Talk = {
    system,
    question,
    turns: turns.map(({ calls, reasons, then }, index) => {
      const isLast = index === turns.length - 1;
      return {
        text: mark(said),
        reasoning: reasons ? mark(said) : null,
        calls: Array.from({ length: isLast ? 0 : calls }, (_, place) => ({
          id: `call${index}-${place}`,
          name: `tool${place}`,
          asked: mark(said),
          gave: mark(gave),
        })),
        then: then && !isLast ? mark(asked) : null,
      };
    }),
  };
  return { talk, said, asked, gave };
}

/** The marks of texts, each once. */
export const marksIn = (texts: Iterable<string>): ReadonlySet<string> =>
  new Set([...texts].flatMap((text) => text.match(/mark\d+end/gu) ?? []));

/**
 * Plants texts in a form and reads it: each is in the transcript, said by whom it was said.
 * @param runs talks that are planted
 * @returns how many texts that were
 */
export function plant(name: string, form: (talk: Talk) => string, runs: number): number {
  let count = 0;
  fc.assert(
    fc.property(shape, (given) => {
      const { talk, said, asked, gave } = planted(given);
      const log = wholeLog(form(talk));
      assert.equal(log.episodes.length, 1);
      const entries = log.episodes.flatMap((episode) => episode.entries);
      const messages = entries.flatMap((entry) => (entry.kind === 'message' ? [entry] : []));
      const byModel = marksIn(messages.map(({ text }) => text));
      const fromTools = marksIn(entries.flatMap((entry) => (entry.kind === 'event' ? [entry.text] : [])));
      const contexts = marksIn(
        messages.flatMap(({ context: { list, length } }) => list.slice(0, length).map(({ text }) => text)),
      );
      assert.deepEqual([...byModel].toSorted(), said.toSorted(), 'what the model said');
      // A message of a model is one message, however many pieces its form has; ShareGPT has calls apart.
      if (name !== 'ShareGPT') {
        assert.equal(messages.length, talk.turns.length);
      }
      for (const mark of gave) {
        assert.ok(fromTools.has(mark), `${mark} of a tool`);
      }
      for (const mark of asked.slice(WITHOUT_SYSTEM.has(name) ? 1 : 0)) {
        assert.ok(contexts.has(mark), `${mark} of a person`);
      }
      count += said.length + asked.length + gave.length;
    }),
    { numRuns: runs, seed: 35 },
  );
  return count;
}
