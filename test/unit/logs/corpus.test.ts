/**
 * Logs that libraries wrote by themselves, recorded at the versions in test/programs/corpus/record.mjs: every text that
 * was planted is said by whom it was said.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { marksIn } from './planting.ts';
import { wholeLog } from './wholeLog.ts';

const CORPUS = join(import.meta.dirname, '..', '..', 'fixtures', 'logs', 'corpus');
const marks = z.array(z.string());
const planted = z.object({ file: z.string(), asked: marks, said: marks, gave: marks });

/** What is in a file and not in its transcript: it belongs to no message, and the import counts what it left out. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  // The arguments of a call stand at the span of the tool alone.
  'traceloopLangChain.json.gz': ['mark4end', 'mark9end'],
  // Calls of models are there without what they said, so that nothing is left that a tool could answer.
  'openaiAgents.jsonl': ['mark5end', 'mark6end'],
};

describe('a log of a real library', () => {
  for (const line of readFileSync(join(CORPUS, 'planted.jsonl'), 'utf8').trim().split('\n')) {
    const { file, asked, said, gave } = planted.parse(JSON.parse(line));
    it(`has every text by its speaker: ${file}`, () => {
      const packed = readFileSync(join(CORPUS, file));
      const bytes = file.endsWith('.gz') ? gunzipSync(packed) : packed;
      const { episodes, leftOut } = wholeLog(bytes);
      // A library does not write all that it was given.
      const written = marksIn([bytes.toString('utf8')]);
      const entries = episodes.flatMap((episode) => episode.entries);
      const messages = entries.flatMap((entry) => (entry.kind === 'message' ? [entry] : []));
      const contexts = messages.flatMap(({ context: { list, length } }) => list.slice(0, length));
      const missing = (those: readonly string[], texts: readonly string[]): string[] => {
        const among = marksIn(texts);
        return those.filter((mark) => written.has(mark) && !among.has(mark));
      };
      const left = [
        ...missing(
          said,
          messages.map(({ text }) => text),
        ),
        ...missing(
          gave,
          entries.flatMap((entry) => (entry.kind === 'event' ? [entry.text] : [])),
        ),
        ...missing(
          asked,
          contexts.map(({ text }) => text),
        ),
      ];
      assert.deepEqual(left, LEFT_OUT[file] ?? []);
      assert.ok(left.length === 0 || leftOut.size > 0);
    });
  }
});
