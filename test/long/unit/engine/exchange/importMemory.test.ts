/** What an import holds does not grow with its log: live bytes are counted right after a garbage collection. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { storeLog, surveyLog, type SurveyedLog } from '../../../../../src/engine/exchange/importLog.ts';
import { LogIndex } from '../../../../../src/engine/exchange/logIndex.ts';
import type { LogSource } from '../../../../../src/logs/source.ts';
import { NEVER } from '../../../../../src/shared/cancellation.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../../src/store/write/writer.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function live(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Lines of equal length that are made when they are read, so that the log itself needs no memory. */
function linesOf(count: number, length: number, line: (number: number) => unknown): LogSource {
  let made = { number: -1, text: '' };
  const textOf = (number: number): string => {
    if (made.number !== number) {
      made = { number, text: `${JSON.stringify(line(number)).padEnd(length - 1)}\n` };
      assert.equal(made.text.length, length);
    }
    return made.text;
  };
  const fill = (buffer: Buffer, start: number): number => {
    const end = Math.min(count * length, start + buffer.length);
    for (let at = start; at < end;) {
      const number = Math.floor(at / length);
      at += buffer.write(textOf(number).slice(at - number * length), at - start, 'latin1');
    }
    return Math.max(0, end - start);
  };
  const read = (start: number, end: number): Buffer => {
    const buffer = Buffer.alloc(end - start);
    fill(buffer, start);
    return buffer;
  };
  return { name: 'generated.jsonl', size: count * length, read, fill };
}

const text = (value: string): unknown => ({ stringValue: value });
/** A call of a model; `number` is its own, `trace` that of its episode. */
const span = (trace: number, number: number, padding = ''): unknown => ({
  traceId: trace.toString(16).padStart(32, '0'),
  spanId: number.toString(16).padStart(16, '0'),
  startTimeUnixNano: String(number),
  attributes: [
    { key: 'gen_ai.operation.name', value: text('chat') },
    { key: 'gen_ai.prompt.0.role', value: text('user') },
    { key: 'gen_ai.prompt.0.content', value: text(`${trace}? ${padding}`) },
    { key: 'gen_ai.completion.0.role', value: text('assistant') },
    { key: 'gen_ai.completion.0.content', value: text(`Yes ${padding}`) },
  ],
});

async function surveyed(t: TestContext, source: LogSource): Promise<SurveyedLog> {
  const index = new LogIndex(source.name);
  t.after(() => index.close());
  return surveyLog({ source, leftOut: [], index }, { path: source.name, maskSecrets: false }, NEVER, 0);
}
function storeOf(t: TestContext): StoreWriter {
  const folder = mkdtempSync(join(tmpdir(), 'c3-memory-'));
  const store = openStoreForWriting(join(folder, 'c3.sqlite'));
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

/** Bytes. What is compiled meanwhile takes most of it; a name in memory for each further episode takes a million. */
const GROWN = 750_000;

describe('what an import holds', () => {
  it('is the same for any number of episodes, while they are looked for and while they are stored', async (t) => {
    const store = storeOf(t);
    /** What is live where the last line is first read, to find its entry, and last, to store it. */
    const held = async (traces: number): Promise<readonly number[]> => {
      const before = live();
      const readings: number[] = [];
      const source = linesOf(traces, 600, (number) => {
        if (number === traces - 1) {
          readings.push(live() - before);
        }
        return span(number, number);
      });
      const { episodes } = storeLog(store, await surveyed(t, source), '2026-01-01T00:00:00.000Z');
      assert.deepEqual([episodes, readings.length >= 3], [traces, true]);
      return [readings.at(0) ?? 0, readings.at(-1) ?? 0];
    };
    // First what is compiled and prepared once. Caches of the store are emptied at powers of two: they hold the same.
    await held(2048);
    const [few, many] = [await held(2048), await held(8192)];
    const grown = many.map((bytes, phase) => bytes - (few[phase] ?? 0));
    assert.ok(Math.max(...grown) < GROWN, `6,144 episodes more hold ${grown.join(', ')} bytes more`);
  });

  it('is a small part of an episode, however long what was said in it is', async (t) => {
    const [spans, length] = [2000, 6000] as const;
    const source = linesOf(spans, length, (number) => span(0, number, 'word '.repeat(480)));
    const { episodes } = await surveyed(t, source);
    const before = live();
    let held = Number.NaN;
    for (const { entries } of episodes()) {
      let messages = 0;
      for (const entry of entries) {
        messages += entry.kind === 'message' ? 1 : 0;
        held = messages === spans / 2 ? live() - before : held;
      }
      assert.equal(messages, spans);
    }
    assert.ok(held < source.size / 8, `an episode of ${source.size} bytes holds ${held}`);
  });
});
