/**
 * Reads spans of Datadog's LLM Observability, as clients send them and its interface exports them,
 * into the attribute names of OpenTelemetry.
 */

import { fieldsAt, listAtKey, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { isRecord } from '../shared/guard.ts';
import type { Attributes, Span } from './spans.ts';
import { readTime } from './steps.ts';

/** Returns the span that a value is, or null. */
export function datadogSpan(given: unknown): Span | null {
  // An export has the span within a resource.
  const value = isRecord(given) && given['type'] === 'span' ? fieldsAt(given, 'attributes') : given;
  if (!isRecord(value)) {
    return null;
  }
  const meta = fieldsAt(value, 'meta');
  const kind =
    textAt(meta, 'kind', 'span.kind') ?? textAt(fieldsAt(meta, 'span'), 'kind') ?? textAt(value, 'span_kind');
  const [trace, id] = [textAt(value, 'trace_id'), textAt(value, 'span_id')];
  const start = readTime(valueAt(value, 'start_ns', 'start_ms'));
  if (kind === null || trace === null || id === null || start === 0n) {
    return null;
  }
  const { parent_id: parent, duration } = value;
  const name = textAt(value, 'name') ?? '';
  return {
    trace,
    id,
    parent: typeof parent === 'string' && parent !== ROOT ? parent : '',
    name,
    start,
    end:
      typeof duration === 'number' && Number.isFinite(duration) && duration >= 0
        ? start + BigInt(Math.round(duration))
        : 0n,
    failed: failureOf(value, meta),
    dropped: 0,
    attributes: { ...attributesOf(kind, name, { ...value, ...meta }), ...aboutCall(value, { ...value, ...meta }) },
    events: [],
  };
}
/** The parent of the first span of a trace. */
const ROOT = 'undefined';

function failureOf(value: Fields, meta: Fields): string | null {
  const error = fieldsAt(meta, 'error');
  const isError = value['status'] === 'error' || Object.keys(error).length > 0;
  return isError ? (textAt(error, 'message', 'type') ?? textAt(value, 'status_message') ?? 'it failed') : null;
}

/** Returns the input and output of a model, tool or agent call, or none for other spans. */
function attributesOf(kind: string, name: string, span: Fields): Attributes {
  const [input, output] = [fieldsAt(span, 'input'), fieldsAt(span, 'output')];
  switch (kind) {
    case 'llm':
      return { 'gen_ai.operation.name': 'chat', ...messagesOf(input, output) };
    case 'agent':
      return { 'openinference.span.kind': 'AGENT', 'gen_ai.agent.name': name, ...messagesOf(input, output) };
    case 'tool':
      return {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'input.value': input['value'],
        'output.value': output['value'],
      };
    case 'retrieval':
      return {
        'openinference.span.kind': 'RETRIEVER',
        'input.value': input['value'],
        'output.value': documentsIn(output) ?? output['value'],
      };
    default:
      return {};
  }
}

const messagesOf = (input: Fields, output: Fields): Attributes => ({
  'gen_ai.input.messages': input['messages'] ?? textMessage('user', input['value']),
  'gen_ai.output.messages': output['messages'] ?? textMessage('assistant', output['value']),
});

const textMessage = (role: string, content: unknown): unknown =>
  content === undefined || content === null ? undefined : [{ role, content }];

/** Returns the retrieved documents as one text, or undefined if there are none. */
function documentsIn(output: Fields): string | undefined {
  const texts = listAtKey(output, 'documents').flatMap((one) => (isRecord(one) ? (textAt(one, 'text') ?? []) : []));
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

function aboutCall(value: Fields, span: Fields): Attributes {
  const metrics = fieldsAt(value, 'metrics');
  return {
    'gen_ai.request.model': span['model_name'],
    'gen_ai.usage.input_tokens': metrics['input_tokens'],
    'gen_ai.usage.output_tokens': metrics['output_tokens'],
    'gen_ai.request.temperature': fieldsAt(span, 'metadata')['temperature'],
  };
}
