/** Traces as protocol buffers, as OpenTelemetry's own serializers write them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { isProtobuf, tracesInProtobuf } from '../../../src/logs/otlpProtobuf.ts';
import { isRecord } from '../../../src/shared/guard.ts';

const exporter = new InMemorySpanExporter();
const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('test');
const parent = tracer.startSpan('chat', {
  attributes: {
    'gen_ai.operation.name': 'chat',
    text: 'Wie heiß? \u{1f321}',
    whole: 19,
    below: -3,
    part: 0.25,
    yes: true,
    list: ['a', 'b'],
  },
});
parent.addEvent('said', { text: 'Warm.' });
parent.end();
tracer.startSpan('other').end();
const spans = exporter.getFinishedSpans();
const bytes = ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array();
const KEYS = ['resourceSpans', 'scopeSpans', 'spans', 'traceId', 'spanId', 'parentSpanId', 'name', 'events'];
const ATTRIBUTES = ['startTimeUnixNano', 'endTimeUnixNano', 'timeUnixNano', 'attributes'];

/** Of each object that is no attribute what is read; whole numbers are texts in one form, as OTLP allows. */
function read(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(read);
  }
  if (!isRecord(value)) {
    return value;
  }
  const kept = Object.entries(value).filter(
    ([key, held]) => [...KEYS, ...ATTRIBUTES].includes(key) && !(Array.isArray(held) && held.length === 0),
  );
  return Object.fromEntries(
    kept.map(([key, held]) => [
      key,
      key === 'attributes' ? JSON.stringify(held).replace(/"intValue":(-?\d+)/gu, '"intValue":"$1"') : read(held),
    ]),
  );
}

describe('traces as protocol buffers', () => {
  it('are read as the same traces in JSON are', () => {
    const json: unknown = JSON.parse(Buffer.from(JsonTraceSerializer.serializeRequest(spans) ?? []).toString());
    assert.deepEqual(read(tracesInProtobuf(bytes, 'it')), read(json));
    assert.ok(isProtobuf(bytes));
    assert.ok(!isProtobuf(Buffer.from('\n{"resourceSpans":[]}')));
  });

  it('are refused in one sentence where they are cut, and never read beyond their end', () => {
    for (let length = 1; length < bytes.length; length++) {
      assert.throws(() => tracesInProtobuf(bytes.subarray(0, length), 'it'), {
        kind: 'input',
        message: /^it is no trace of OpenTelemetry as protocol buffers: .*give a whole one, or OTLP in JSON\.$/u,
      });
    }
    for (const wrong of [[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], [0x08, 0x01], [0x0b], [0x0a, 0x02, 0x10, 0x80]]) {
      assert.throws(() => tracesInProtobuf(Uint8Array.from(wrong), 'it'), { kind: 'input' });
    }
  });
});
