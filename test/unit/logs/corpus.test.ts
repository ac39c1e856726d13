/**
 * What the real libraries wrote of programs that asked a planting server (test/programs/corpus/record.mjs): every text
 * that was planted is in the transcript with its speaker.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { marksIn } from './planting.ts';
import { wholeLog } from './wholeLog.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/logs/corpus');
const texts = z.array(z.string());
const planted = z.object({ file: z.string(), asked: texts, said: texts, gave: texts });
const PLANTED = readFileSync(join(FOLDER, 'planted.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => planted.parse(JSON.parse(line)));

const logOf = (file: string): string => {
  const bytes = readFileSync(join(FOLDER, file));
  return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
};

/** Arguments of calls that the library writes beside the call of the model alone: in spans that are counted. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'traceloopLangChain.json.gz': ['mark4end', 'mark9end'],
};

describe('all that was planted is in the transcripts of', () => {
  for (const { file, asked, said, gave } of PLANTED) {
    it(file, () => {
      const { episodes, leftOut } = wholeLog(logOf(file));
      const entries = episodes.flatMap((episode) => episode.entries);
      const messages = entries.flatMap((entry) => (entry.kind === 'message' ? [entry] : []));
      const texts = messages.map(({ text }) => text);
      const results = entries.flatMap((entry) =>
        entry.kind === 'event' && entry.source === 'lookup' ? [entry.text] : [],
      );
      const contexts = messages.flatMap(({ context }) =>
        context.list
          .slice(0, context.length)
          .flatMap(({ role, text }) => (['system', 'user', 'developer'].includes(role) ? [text] : [])),
      );
      assert.deepEqual(
        { said: missingIn(said, texts), gave: missingIn(gave, results), asked: missingIn(asked, contexts) },
        { said: ELSEWHERE[file] ?? [], gave: [], asked: [] },
      );
      assert.equal(
        [...leftOut.keys()].some((reason) => reason.startsWith('calls of ')),
        false,
        'no call is silent',
      );
      if (!file.endsWith('.jsonl')) {
        // Each line of such a log is a conversation of its own.
        assert.deepEqual([new Set(texts).size, new Set(results).size], [texts.length, gave.length], 'said once');
      }
    });
  }
});

function missingIn(marks: readonly string[], found: Iterable<string>): string[] {
  const there = marksIn(found);
  return marks.filter((mark) => !there.has(mark));
}
