/** Batches of spans that a program sends to `c3 record`, well and badly. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Recorded } from '../../../src/domain/episode.ts';
import { record } from '../../../src/engine/record/recordProgram.ts';
import type { EngineService } from '../../../src/engine/service.ts';
import { NEVER } from '../../../src/shared/cancellation.ts';
import { HashedStream } from '../../../src/tasks/hashedStream.ts';
import { seed, type Tally } from '../harness.ts';
import { faultIn, requestBytes, sentBytes, textOf, type Bytes, type Fault, type Sent } from './said.ts';
import { settled } from './settled.ts';

const FLOOD = 2 ** 18;
/** Says who it is and where spans are sent to, and waits for a signal. */
const PROGRAM =
  'console.log(process.pid, process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT); setInterval(() => undefined, 1e6);';

const exporter = new InMemorySpanExporter();
const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('attack');

/** A batch of one call of a model, as OpenTelemetry's own serializers write it. */
function batchOf(text: string, isJson: boolean): Buffer {
  exporter.reset();
  const message = (role: string, content: string): string =>
    JSON.stringify([{ role, parts: [{ type: 'text', content }], finish_reason: 'stop' }]);
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': message('user', 'Was?'),
    'gen_ai.output.messages': message('assistant', text),
  };
  tracer.startSpan('chat m', { attributes }).end();
  const serializer = isJson ? JsonTraceSerializer : ProtobufTraceSerializer;
  return Buffer.from(serializer.serializeRequest(exporter.getFinishedSpans()) ?? []);
}

/** One batch and what came of it. */
interface Batch {
  readonly text: string;
  readonly what: string;
  /** Whether it was sent as it was meant. */
  readonly isWell: boolean;
  /** Whether the receiver took it. */
  readonly isTaken: boolean;
}

/** One recording of a program that sends spans alone. */
export class SpansLane {
  private readonly service: EngineService;
  private readonly folder: string;
  private readonly tally: Tally;
  private readonly batches: Batch[] = [];
  private recorded: Promise<Recorded> | undefined;
  private pid = 0;
  private place = new URL('http://127.0.0.1');

  constructor(service: EngineService, folder: string, tally: Tally) {
    [this.service, this.folder, this.tally] = [service, folder, tally];
  }

  async begin(): Promise<void> {
    const said = Promise.withResolvers<string>();
    const settings = {
      command: [process.execPath, '-e', PROGRAM] as const,
      folder: this.folder,
      maskSecrets: false,
      right: null,
      upstream: 'http://127.0.0.1:9/v1',
      served: null,
      quiet: true,
      onLine: said.resolve,
    };
    this.recorded = record(this.service, settings, NEVER);
    const [pid, place = ''] = (await said.promise).split(' ');
    [this.pid, this.place] = [Number(pid), new URL(place)];
  }

  async exchange(number: number): Promise<void> {
    const stream = new HashedStream(`spans ${seed()} ${number}`);
    const text = textOf(number, stream);
    const isJson = stream.chance(0.5);
    const isPacked = stream.chance(0.3);
    const plain = batchOf(text, isJson);
    const body: Bytes = [[isPacked ? 'gzip' : 'json', isPacked ? gzipSync(plain) : plain]];
    const bytes = requestBytes(
      this.place,
      { type: isJson ? 'application/json' : 'application/x-protobuf', ...(isPacked && { encoding: 'gzip' }) },
      body,
      stream.chance(0.5),
    );
    const fault: Fault | null = stream.chance(0.3) ? null : faultIn(bytes, stream);
    const { pieces, then } = sentBytes(bytes, fault, stream, FLOOD);
    const answer = await this.send(pieces, then);
    const isTaken = / 200 /u.test(answer.slice(0, 20));
    const what = `batch ${number}, ${JSON.stringify({ isJson, isPacked, fault })}`;
    this.batches.push({ text, what, isWell: fault === null, isTaken });
    if (fault === null && !isTaken) {
      this.tally.broken(`${what} is refused: ${answer.slice(0, 300)}`);
    }
    this.tally.held();
  }

  /** Ends the program and its recording. */
  async end(): Promise<Recorded> {
    process.kill(this.pid, 'SIGTERM');
    assert.ok(this.recorded !== undefined);
    return this.recorded;
  }

  /** Compares what is stored with what was taken. @param texts of stored messages */
  check(texts: readonly string[], { report }: Recorded): void {
    const stored = new Set(texts);
    const counted = Object.values(report.leftOut).reduce((sum, count) => sum + count, 0);
    const missing = this.batches.filter(({ text, isTaken }) => isTaken && !stored.has(text));
    const lost = missing.find(({ isWell }) => isWell);
    if (lost !== undefined) {
      this.tally.broken(`${lost.what} was taken, and is not stored: ${JSON.stringify(report.leftOut)}`);
    }
    const garbled = texts.length - this.batches.filter(({ text }) => stored.has(text)).length;
    if (missing.length > counted + garbled) {
      const first = missing.slice(0, 3).map(({ what }) => what);
      this.tally.broken(
        `${missing.length} are missing, and ${JSON.stringify(report.leftOut)} counted: ${first.join('; ')}`,
      );
    }
    this.tally.held();
  }

  /** @returns what the receiver answers until it closes */
  private async send(pieces: Sent['pieces'], then: Sent['then']): Promise<string> {
    const socket: Socket = connect({ port: Number(this.place.port), host: '127.0.0.1' });
    let answer = '';
    socket.on('error', () => undefined).on('data', (piece: Buffer) => (answer += piece.toString('latin1')));
    await once(socket, 'connect');
    for (const piece of pieces) {
      if (!socket.destroyed && !socket.write(piece)) {
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
      }
      await setImmediate();
    }
    if (then === 'reset') {
      socket.resetAndDestroy();
    } else if (then === 'end' || then === 'stall') {
      socket.end();
    }
    if (!(await settled(() => socket.closed))) {
      this.tally.broken('the connection of a batch is never closed');
    }
    return answer;
  }
}
