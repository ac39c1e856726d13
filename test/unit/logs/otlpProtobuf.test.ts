/** Traces and logs as protocol buffers, as OpenTelemetry's own serializers write them. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SpanStatusCode } from '@opentelemetry/api';
import {
  JsonLogsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { isProtobuf, readProtobufRequest, readProtobufTraces } from '../../../src/logs/otlpProtobuf.ts';
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
parent.setStatus({ code: SpanStatusCode.ERROR, message: 'too warm' });
parent.end();
tracer.startSpan('other').end();
const spans = exporter.getFinishedSpans();
const bytes = ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array();
const KEYS = ['resourceSpans', 'scopeSpans', 'spans', 'traceId', 'spanId', 'parentSpanId', 'name', 'events'];
const ATTRIBUTES = ['startTimeUnixNano', 'endTimeUnixNano', 'timeUnixNano', 'attributes', 'observedTimeUnixNano'];
const LOG_KEYS = ['resourceLogs', 'scopeLogs', 'logRecords', 'severityText', 'severityNumber', 'eventName', 'body'];
const BODY_KEYS = ['kvlistValue', 'values', 'value', 'key', 'stringValue'];

/** Of each object that is no attribute what is read; whole numbers are texts in one form, as OTLP allows. */
function read(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(read);
  }
  if (!isRecord(value)) {
    return value;
  }
  const kept = Object.entries(value).filter(
    ([key, held]) =>
      [...KEYS, ...ATTRIBUTES, ...LOG_KEYS, ...BODY_KEYS].includes(key) && !(Array.isArray(held) && held.length === 0),
  );
  return Object.fromEntries(
    kept.map(([key, held]) => [
      key,
      key === 'attributes' ? JSON.stringify(held).replace(/"intValue":(-?\d+)/gu, '"intValue":"$1"') : read(held),
    ]),
  );
}

/** A record of a model's answer, as an instrumentation logs it. */
const record = {
  hrTime: [1, 5] as [number, number],
  hrTimeObserved: [2, 0] as [number, number],
  severityText: 'INFO',
  body: { message: { content: 'Warm.' } },
  attributes: { 'gen_ai.system': 'any' },
  eventName: 'gen_ai.choice',
  spanContext: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 },
  resource: spans[0]?.resource ?? assert.fail(),
  instrumentationScope: { name: 'test' },
  droppedAttributesCount: 0,
};
const logs = ProtobufLogsSerializer.serializeRequest([record]) ?? new Uint8Array();

/** What is at the end of a path through objects and lists. */
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (held, key) => (typeof held === 'object' && held !== null ? Reflect.get(held, key) : null),
    value,
  );

describe('traces as protocol buffers', () => {
  it('are read as the same traces in JSON are', () => {
    const json: unknown = JSON.parse(Buffer.from(JsonTraceSerializer.serializeRequest(spans) ?? []).toString());
    assert.deepEqual(read(readProtobufTraces(bytes, 'it')), read(json));
    assert.ok(isProtobuf(bytes));
    assert.ok(!isProtobuf(Buffer.from('\n{"resourceSpans":[]}')));
  });

  it('are refused in one sentence where they are cut, and never read beyond their end', () => {
    for (let length = 1; length < bytes.length; length++) {
      assert.throws(() => readProtobufTraces(bytes.subarray(0, length), 'it'), {
        kind: 'input',
        message: /^it is not an OpenTelemetry trace in protocol buffers: .*give a whole one, or OTLP in JSON\.$/u,
      });
    }
    for (const wrong of [[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], [0x08, 0x01], [0x0b], [0x0a, 0x02, 0x10, 0x80]]) {
      assert.throws(() => readProtobufTraces(Uint8Array.from(wrong), 'it'), { kind: 'input' });
    }
  });

  it('say how a span ended', () => {
    const span = at(readProtobufTraces(bytes, 'it'), 'resourceSpans', 0, 'scopeSpans', 0, 'spans', 0);
    assert.deepEqual(at(span, 'status'), { message: 'too warm', code: 2 });
    assert.equal(at(span, 'droppedAttributesCount'), 0);
  });
});

describe('requests as protocol buffers', () => {
  it('are of traces or of logs, by how their fields are written', () => {
    assert.deepEqual(readProtobufRequest(bytes), {
      request: readProtobufTraces(bytes, 'it'),
      isRead: true,
      damaged: [],
      others: 0,
    });
    const json: unknown = JSON.parse(Buffer.from(JsonLogsSerializer.serializeRequest([record]) ?? []).toString());
    assert.deepEqual(read(readProtobufRequest(logs).request), read(json));
    assert.ok(isProtobuf(logs));
  });

  it('lose a span that is damaged and nothing else, and name it by its number', () => {
    // The name of the second span is no UTF-8.
    const other = Buffer.from(bytes);
    other[other.indexOf('other')] = 0xff;
    const { request, isRead, damaged, others } = readProtobufRequest(other);
    assert.deepEqual([isRead, damaged.length, others], [true, 1, 0]);
    assert.match(damaged[0] ?? '', /^span 2, which is damaged \(/u);
    const all = at(readProtobufTraces(bytes, 'it'), 'resourceSpans', 0, 'scopeSpans', 0, 'spans');
    assert.deepEqual(at(request, 'resourceSpans', 0, 'scopeSpans', 0, 'spans'), Array.isArray(all) && all.slice(0, 1));
  });

  it('keep what comes before a place where they are cut', () => {
    const many = Buffer.from(
      ProtobufTraceSerializer.serializeRequest(Array.from({ length: 50 }, () => spans).flat()) ?? [],
    );
    const spansIn = (request: unknown): number => {
      const list = at(request, 'resourceSpans', 0, 'scopeSpans', 0, 'spans');
      return Array.isArray(list) ? list.length : 0;
    };
    for (const length of [many.length, many.length - 1, many.length / 2]) {
      const { request, damaged, others } = readProtobufRequest(many.subarray(0, length));
      assert.ok(Math.abs(spansIn(request) - (100 * length) / many.length) < 4, String(spansIn(request)));
      assert.deepEqual([damaged.length, others], [length === many.length ? 0 : 1, 0], damaged.join('; '));
    }
  });

  it('name some of the spans that are damaged and count the others', () => {
    const many = Buffer.from(
      ProtobufTraceSerializer.serializeRequest(Array.from({ length: 50 }, () => spans).flat()) ?? [],
    );
    for (let place = many.indexOf('other'); place >= 0; place = many.indexOf('other', place)) {
      many[place] = 0xff;
    }
    const { isRead, damaged, others } = readProtobufRequest(many);
    assert.deepEqual([isRead, damaged.length, others], [true, 20, 30]);
    assert.match(damaged[19] ?? '', /^span 40, /u);
  });

  it('of anything else are not read', () => {
    for (const length of [1, 2, 20, logs.length - 1]) {
      assert.equal(readProtobufRequest(logs.subarray(0, length)).isRead, false);
    }
  });
});
