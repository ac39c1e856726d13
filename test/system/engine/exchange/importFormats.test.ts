/** Logs that are kept in archives and databases, imported by the command line as its users have them. */

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import Database from 'better-sqlite3';
import type { LogImport } from '../../../../src/domain/episode.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { leftBehind } from '../../../support/leftBehind.ts';
import { c3, type Finished } from '../../../unit/engine/workspace.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const TEMPORARY = tmpdir();
const LOGS = join(ROOT, 'test/fixtures/logs');

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(TEMPORARY, 'c3-formats-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
/** What it leaves behind lies in the folder. */
function importing(folder: string, file: string): Promise<Finished> {
  process.env['TMPDIR'] = folder;
  return c3(folder, ['import', file, '--json', '--store', join(folder, 'c3.sqlite')]);
}
async function imported(folder: string, file: string): Promise<LogImport> {
  const { code, stdout, stderr } = await importing(folder, file);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as LogImport;
}
const refusal = async (folder: string, file: string): Promise<string> => (await importing(folder, file)).stderr;

/** The same trace as OpenTelemetry's own serializers write it. */
function exported(): { readonly protobuf: Buffer; readonly json: Buffer } {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const said = (role: string, content: string): string =>
    JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.agent.name': 'planner',
    'gen_ai.input.messages': said('user', '?'),
    'gen_ai.output.messages': said('assistant', 'Yes.'),
  };
  provider.getTracer('team').startSpan('chat', { attributes }).end();
  const spans = exporter.getFinishedSpans();
  return {
    protobuf: Buffer.from(ProtobufTraceSerializer.serializeRequest(spans) ?? []),
    json: Buffer.from(JsonTraceSerializer.serializeRequest(spans) ?? []),
  };
}

/** As the file exporter of the Collector writes a message: behind its length, highest byte first. */
function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  return Buffer.concat([length, message]);
}

describe('c3 import', () => {
  it('reads an archive of Inspect and a database of LangGraph, once each, and leaves nothing beside them', async (t) => {
    const folder = folderOf(t);
    const database = join(folder, 'langGraph.sqlite');
    copyFileSync(join(LOGS, 'langGraph.sqlite'), database);
    for (const [file, format, episodes, scored] of [
      [join(LOGS, 'inspect.eval'), 'samples of Inspect', 2, 2],
      [database, 'checkpoints of LangGraph', 1, 0],
    ] as const) {
      const report = await imported(folder, file);
      assert.deepEqual([report.format, report.episodes, report.scored], [format, episodes, scored]);
      assert.deepEqual(
        report.speakers.map(({ name, messages }) => [name, messages]),
        [
          ['planner', 2 * episodes],
          ['writer', episodes],
        ],
      );
      const counts = (): unknown => {
        const store = openStoreForReading(join(folder, 'c3.sqlite'));
        try {
          return store.counts();
        } finally {
          store.close();
        }
      };
      const before = counts();
      assert.deepEqual(await imported(folder, file), { ...report, known: true });
      assert.deepEqual(counts(), before);
    }
    assert.deepEqual(
      leftBehind(folder).filter((name) => !name.startsWith('c3.sqlite')),
      ['langGraph.sqlite'],
    );
    assert.deepEqual(readFileSync(database), readFileSync(join(LOGS, 'langGraph.sqlite')));
  });

  it('counts what it leaves out of a database of LangGraph: empty threads, unread checkpoints, forks, graphs within', async (t) => {
    const folder = folderOf(t);
    const path = join(folder, 'more.sqlite');
    copyFileSync(join(LOGS, 'langGraph.sqlite'), path);
    const db = new Database(path);
    const add = db.prepare(
      `INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint)
        VALUES (?, ?, ?, NULL, 'json', ?)`,
    );
    const first = db.prepare<[], { thread_id: string }>('SELECT thread_id FROM checkpoints LIMIT 1').get();
    assert.ok(first);
    const nothing = '{"channel_values":{}}';
    for (const [thread, namespace, id, value] of [
      ['empty', '', '2', nothing],
      ['unread', '', '3', 'no JSON'],
      // Before all others, and nothing follows it.
      [first.thread_id, '', '0', nothing],
      [first.thread_id, 'within', '1', nothing],
    ] as const) {
      add.run(thread, namespace, id, Buffer.from(value));
    }
    db.close();
    const report = await imported(folder, path);
    assert.equal(report.episodes, 1);
    assert.deepEqual(report.leftOut, {
      'threads without messages in their state': 2,
      'checkpoints that cannot be read': 1,
      'checkpoints of graphs within the graph': 1,
      'checkpoints of forks that the last one does not follow': 1,
    });
  });

  it('reads traces as protocol buffers, compressed logs, and all that the file exporter of the Collector writes', async (t) => {
    const folder = folderOf(t);
    const { protobuf, json } = exported();
    for (const [name, bytes] of [
      ['traces.bin', protobuf],
      ['traces.jsonl.gz', gzipSync(json)],
      ['traces.jsonl.zst', zstdCompressSync(json)],
      ['traces.bin.gz', gzipSync(protobuf)],
      ['framed.bin', framed(protobuf)],
      ['framed.bin.zst', zstdCompressSync(framed(protobuf))],
      ['framed.zstd.bin', framed(zstdCompressSync(protobuf))],
      ['framed.zstd.json', framed(zstdCompressSync(json))],
    ] as const) {
      const file = join(folder, name);
      writeFileSync(file, bytes);
      const { format, episodes, speakers } = await imported(folder, file);
      assert.deepEqual(
        [format, episodes, speakers],
        ['OpenTelemetry spans', 1, [{ name: 'planner', by: 'name', messages: 1 }]],
        name,
      );
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('c3-import-')),
      [],
    );
  });

  it('refuses archives and databases that are damaged or hold something else, in one sentence', async (t) => {
    const folder = folderOf(t);
    const [archive, database] = ['inspect.eval', 'langGraph.sqlite'].map((name) => readFileSync(join(LOGS, name)));
    assert.ok(archive !== undefined && database !== undefined);
    const text = database.toString('latin1');
    for (const [name, bytes, words] of [
      ['cut.eval', archive.subarray(0, 1000), /as an Inspect log/u],
      ['cut.gz', gzipSync(text).subarray(0, 12), /Cannot decompress .*cut\.gz/u],
      [
        'cut.bin',
        framed(Buffer.from('{"resourceSpans":[]}')).subarray(0, -1),
        /No complete message .* begins at byte 0 of .*cut\.bin/u,
      ],
      [
        'other.eval',
        Buffer.from(archive.toString('latin1').replaceAll('samples/', 'simples/'), 'latin1'),
        /without samples/u,
      ],
      ['cut.sqlite', database.subarray(0, 5000), /as a database of LangGraph checkpoints/u],
      [
        'view.sqlite',
        Buffer.from(text.replaceAll('CREATE TABLE checkpoints', 'CREATE VIEWW checkpoints'), 'latin1'),
        /as a database of LangGraph checkpoints/u,
      ],
    ] as const) {
      const path = join(folder, name);
      writeFileSync(path, bytes);
      const said = await refusal(folder, path);
      assert.match(said, words, name);
      assert.equal(said.trim().split('\n').length, 1, said);
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('c3-import-')),
      [],
    );
  });
});
