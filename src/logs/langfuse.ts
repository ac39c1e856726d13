/**
 * What Langfuse exports: observations, each with its `traceId`; or traces with their observations and scores. Keys are
 * written as its interface writes them, or with underscores as in files of its tables.
 */
import { isRecord } from '../shared/guard.ts';
import { asText, parsedJson, textAt, valueAt } from '../chat/fields.ts';
import { parsedMessages, type ParsedMessage } from '../chat/messages.ts';
import { returnOf } from './conversations.ts';
import { tokenCount, type ModelCall } from '../chat/modelCall.ts';
import { nanosecondsOf, type Step } from './steps.ts';

type Fields = Readonly<Record<string, unknown>>;

const KINDS: ReadonlyMap<string, Step['kind']> = new Map([
  ['GENERATION', 'model'],
  ['TOOL', 'tool'],
  ['AGENT', 'other'],
  ['SPAN', 'other'],
  ['EVENT', 'other'],
  ['CHAIN', 'other'],
  ['RETRIEVER', 'tool'],
  ['EVALUATOR', 'other'],
  ['EMBEDDING', 'other'],
  ['GUARDRAIL', 'other'],
]);

/** The step that an observation is; null for a value that is none. @param given the trace that it lies in */
export function stepOfObservation(value: unknown, given: string | null = null): Step | null {
  if (!isRecord(value)) {
    return null;
  }
  const [trace, id, type] = [given ?? textAt(value, 'traceId', 'trace_id'), textAt(value, 'id'), textAt(value, 'type')];
  const kind = KINDS.get(type?.toUpperCase() ?? '');
  if (trace === null || id === null || kind === undefined) {
    return null;
  }
  const metadata = parsedJson(value['metadata']);
  const node = isRecord(metadata) ? textAt(metadata, 'langgraph_node', 'agent') : null;
  return {
    trace,
    id,
    parent: textAt(value, 'parentObservationId', 'parent_observation_id') ?? '',
    start: nanosecondsOf(valueAt(value, 'startTime', 'start_time')),
    kind,
    agent: node ?? (type?.toUpperCase() === 'AGENT' ? textAt(value, 'name') : null),
    score: null,
    call: () => callOf(value),
    result: () => ({ source: textAt(value, 'name') ?? 'tool', text: asText(parsedJson(value['output'])) }),
  };
}

/** A trace with its observations. */
export interface LangfuseTrace {
  readonly id: string;
  readonly steps: readonly Step[];
  readonly score: number | null;
}

/** The trace that a value is, with its observations; null for a value that is none. */
export function langfuseTrace(value: unknown): LangfuseTrace | null {
  const observations = isRecord(value) ? value['observations'] : null;
  const id = isRecord(value) ? textAt(value, 'id') : null;
  if (!isRecord(value) || id === null || !Array.isArray(observations)) {
    return null;
  }
  const steps = observations.flatMap((one: unknown) => stepOfObservation(one, id) ?? []);
  const scores: readonly unknown[] = Array.isArray(value['scores']) ? value['scores'] : [];
  const score = scores.map((one) => returnOf(isRecord(one) ? one['value'] : null)).find((one) => one !== null) ?? null;
  return steps.length === 0 ? null : { id, steps, score };
}

function callOf(observation: Fields): ModelCall {
  const usage = [observation['usageDetails'], observation['usage_details'], observation['usage']]
    .map(parsedJson)
    .find(isRecord);
  const count = (...keys: readonly string[]): number => tokenCount(valueAt(usage ?? {}, ...keys));
  return {
    input: messagesOf(parsedJson(observation['input']), 'user'),
    output: messagesOf(parsedJson(observation['output']), 'assistant').slice(-1),
    model: textAt(observation, 'model', 'providedModelName', 'provided_model_name'),
    promptTokens: count('input', 'promptTokens'),
    completionTokens: count('output', 'completionTokens'),
  };
}

/** A list of messages, an object with one, one message, or a text of the role that it can only be of. */
function messagesOf(value: unknown, role: 'user' | 'assistant'): readonly ParsedMessage[] {
  if (value === null || value === undefined || value === '') {
    return [];
  }
  const list: unknown = isRecord(value) ? (value['messages'] ?? value) : value;
  const own = parsedMessages(Array.isArray(list) ? list : [list]);
  return own.length > 0 ? own : parsedMessages([{ role, content: isRecord(value) ? asText(value) : value }]);
}
