/**
 * What the real libraries wrote of programs that asked a planting server (test/programs/corpus/record.mjs): every text
 * that was planted is in the transcript with its speaker.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { writeThreads } from '../../../src/engine/checkpointThreads.ts';
import { marksIn } from './planting.ts';
import { wholeLog } from './wholeLog.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/logs/corpus');
const texts = z.array(z.string());
const planted = z.object({ file: z.string(), asked: texts, said: texts, gave: texts });
const PLANTED = readFileSync(join(FOLDER, 'planted.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => planted.parse(JSON.parse(line)));

function logOf(file: string): string {
  const bytes = readFileSync(join(FOLDER, file));
  const plain = file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
  if (!file.includes('.sqlite')) {
    return plain.toString();
  }
  const folder = mkdtempSync(join(tmpdir(), 'c3-corpus-'));
  try {
    const [database, threads] = [join(folder, 'log.sqlite'), join(folder, 'threads.jsonl')];
    writeFileSync(database, plain);
    writeThreads(database, threads);
    return readFileSync(threads, 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('all that was planted is in the transcripts of', () => {
  for (const { file, asked, said, gave } of PLANTED) {
    it(file, () => {
      const { episodes, leftOut } = wholeLog(logOf(file));
      const entries = episodes.flatMap((episode) => episode.entries);
      const messages = entries.flatMap((entry) => (entry.kind === 'message' ? [entry] : []));
      const texts = messages.map(({ text }) => text);
      const fromTool = entries.flatMap((entry) =>
        entry.kind === 'event' && entry.source === 'lookup' ? [entry.text] : [],
      );
      // What a tool was called with comes before its result where no message says it.
      const [calls, results] = [true, false].map((isCall) =>
        fromTool.filter((text) => text.startsWith('lookup {') === isCall),
      ) as [string[], string[]];
      const contexts = messages.flatMap(({ context }) =>
        context.list
          .slice(0, context.length)
          .flatMap(({ role, text }) => (['system', 'user', 'developer'].includes(role) ? [text] : [])),
      );
      // A summary that a model wrote is a person's message in the state of LangGraph.
      const summaries = file.includes('.sqlite') ? contexts : [];
      assert.deepEqual(
        {
          said: missingIn(said, [...texts, ...calls, ...summaries]),
          gave: missingIn(gave, results),
          asked: missingIn(asked, contexts),
        },
        { said: [], gave: [], asked: [] },
      );
      assert.equal(
        [...leftOut.keys()].some((reason) => reason.startsWith('calls of ')),
        false,
        'no call is silent',
      );
      if (!file.endsWith('.jsonl')) {
        // Each line of such a log is a conversation of its own.
        assert.deepEqual(
          [new Set(texts).size, results.length, calls.length],
          [texts.length, gave.length, file.startsWith('traceloopLangChain') ? gave.length : 0],
          'said once',
        );
      }
    });
  }
});

function missingIn(marks: readonly string[], found: Iterable<string>): string[] {
  const there = marksIn(found);
  return marks.filter((mark) => !there.has(mark));
}
