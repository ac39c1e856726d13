/** Reads steps from traces of OpenAI's Agents SDK, Weave, Opik and Braintrust. */

import { readModelAnswer, FURTHER_ANSWERS } from '../chat/answers.ts';
import { formatError, resultWithError } from '../chat/content.ts';
import { fieldsAt, listAtKey, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { readMeasures } from '../chat/measures.ts';
import { parseMessages, parseInstructions } from '../chat/messages.ts';
import type { ModelCall } from '../chat/modelCall.ts';
import { readSpentTokens } from '../chat/usage.ts';
import { isRecord } from '../shared/guard.ts';
import { askedWith } from './langSmith.ts';
import { toObservationStep } from './langfuse.ts';
import { firstScore } from './scores.ts';
import { argumentsText, parseIsoTime, type Step } from './steps.ts';

const AGENT_KINDS: ReadonlyMap<unknown, Step['kind']> = new Map([
  ['generation', 'model'],
  ['response', 'model'],
  ['function', 'tool'],
]);

/** Returns the step that a span of OpenAI's Agents SDK is, or null if the value is not one. */
export function toAgentSpanStep(value: unknown): Step | null {
  const data = isRecord(value) ? value['span_data'] : null;
  if (!isRecord(value) || !isRecord(data)) {
    return null;
  }
  const [trace, id] = [textAt(value, 'trace_id'), textAt(value, 'id', 'span_id')];
  if (trace === null || id === null) {
    return null;
  }
  const failed = formatError(value['error']);
  return {
    trace,
    id,
    parent: textAt(value, 'parent_id') ?? '',
    start: parseIsoTime(value['started_at']),
    end: parseIsoTime(value['ended_at']),
    kind: AGENT_KINDS.get(data['type']) ?? 'other',
    agent: data['type'] === 'agent' ? textAt(data, 'name') : null,
    score: null,
    failed,
    answers: textAt(data, 'call_id'),
    lacks: [],
    call: () => agentCall(data),
    result: () => ({
      source: textAt(data, 'name') ?? 'tool',
      asked: argumentsText(data['input']),
      text: valueAt(data, 'output') === undefined && failed === null ? null : resultWithError(data['output'], failed),
    }),
  };
}

function agentCall(data: Fields): ModelCall {
  const response = fieldsAt(data, 'response');
  const given = valueAt(response, 'output') ?? valueAt(data, 'output');
  // The SDK for JavaScript keeps the whole answer of a chat, in a list.
  const [first] = Array.isArray(given) ? (given as readonly unknown[]) : [];
  const body = isRecord(first) && Array.isArray(first['choices']) ? first : null;
  const { said, further } = readModelAnswer(body ?? given);
  const usages = [data, response, ...(body === null ? [] : [body])].map((one) => fieldsAt(one, 'usage'));
  const usage = usages.find((one) => Object.keys(one).length > 0) ?? {};
  return {
    input: [
      ...parseInstructions(response['instructions']),
      ...askedWith({ input: valueAt(data, 'input') ?? response['input'] }),
    ],
    output: said,
    model: textAt(data, 'model') ?? textAt(response, 'model'),
    ...readSpentTokens(usage),
    measures: readMeasures(data, response),
    notes: further === 0 ? [] : [FURTHER_ANSWERS],
  };
}

/** Returns the step that a call of Weave is, or null if the value is not one. */
export function toWeaveStep(value: unknown): Step | null {
  if (!isRecord(value)) {
    return null;
  }
  const [trace, id, op] = [textAt(value, 'trace_id'), textAt(value, 'id'), textAt(value, 'op_name')];
  if (trace === null || id === null || op === null) {
    return null;
  }
  // For example, weave:///entity/project/op/openai.chat.completions.create:hash
  const name = (op.split('/').at(-1) ?? op).replace(/:[^:]*$/u, '');
  const inputs = fieldsAt(value, 'inputs');
  const failed = textAt(value, 'exception');
  const asks = askedWith(inputs);
  const isModel = asks.length > 0 && MODEL_OP.test(name);
  return {
    trace,
    id,
    parent: textAt(value, 'parent_id') ?? '',
    start: parseIsoTime(value['started_at']),
    end: parseIsoTime(value['ended_at']),
    kind: isModel ? 'model' : /tool/iu.test(name) ? 'tool' : 'other',
    agent: null,
    score: null,
    failed,
    answers: null,
    lacks: [],
    call: () => weaveCall(value, inputs),
    result: () => ({
      source: name,
      asked: argumentsText(inputs),
      text: valueAt(value, 'output') === undefined && failed === null ? null : resultWithError(value['output'], failed),
    }),
  };
}
/** Operations of the clients that Weave patches. */
const MODEL_OP =
  /(?:completions?|messages|responses|chat|models|generate)[._](?:create|parse|generate\w*|complete|stream|acreate)|generate_content|^litellm|chat_?completion|(?:^|\.)(?:invoke|predict|complete|chat)$/iu;

function weaveCall(value: Fields, inputs: Fields): ModelCall {
  const output = fieldsAt(value, 'output');
  const { said, further } = readModelAnswer(value['output']);
  const usage = valueAt(output, 'usage', 'usage_metadata', 'usageMetadata');
  return {
    input: [...parseInstructions(valueAt(inputs, 'system', 'instructions')), ...parsedMessagesOf(inputs)],
    output: said,
    model: textAt(output, 'model') ?? textAt(inputs, 'model'),
    ...readSpentTokens(isRecord(usage) ? usage : {}),
    measures: readMeasures(inputs),
    notes: further === 0 ? [] : [FURTHER_ANSWERS],
  };
}

const parsedMessagesOf = (inputs: Fields): ModelCall['input'] => {
  const { messages } = inputs;
  return Array.isArray(messages) ? parseMessages(messages) : askedWith(inputs);
};

/** Span types of Opik and Braintrust, with the corresponding types of Langfuse. */
const OBSERVED: ReadonlyMap<unknown, string> = new Map([
  ['llm', 'GENERATION'],
  ['tool', 'TOOL'],
  ['general', 'SPAN'],
  ['guardrail', 'SPAN'],
  ['task', 'SPAN'],
  ['function', 'SPAN'],
  ['eval', 'SPAN'],
  ['score', 'SPAN'],
]);

/** Returns the step that a span of Opik is, or null if the value is not one. */
export function toOpikStep(value: unknown): Step | null {
  const type = isRecord(value) ? OBSERVED.get(value['type']) : undefined;
  if (!isRecord(value) || type === undefined || !('parent_span_id' in value)) {
    return null;
  }
  return toObservationStep({
    ...value,
    type,
    parentObservationId: value['parent_span_id'],
    ...failureOf(value['error_info']),
  });
}

/** Returns the step that a span of Braintrust is, or null if the value is not one. */
export function toBraintrustStep(value: unknown): Step | null {
  const { type, name } = fieldsAt(value, 'span_attributes');
  if (!isRecord(value) || !('root_span_id' in value)) {
    return null;
  }
  const [metrics, metadata] = [fieldsAt(value, 'metrics'), fieldsAt(value, 'metadata')];
  const step = toObservationStep({
    input: value['input'],
    output: value['output'],
    traceId: value['root_span_id'],
    id: value['span_id'],
    type: OBSERVED.get(type) ?? 'SPAN',
    name,
    parentObservationId: listAtKey(value, 'span_parents')[0],
    startTime: metrics['start'],
    endTime: metrics['end'],
    usage: metrics,
    model: metadata['model'],
    ...failureOf(value['error']),
  });
  return step === null ? null : { ...step, score: firstScore(value['scores']) };
}

const failureOf = (error: unknown): Fields =>
  error === undefined || error === null ? {} : { level: 'ERROR', statusMessage: formatError(error) };
