/**
 * Reads exports of Langfuse: observations, each with its `traceId`, or traces with their
 * observations and scores. Keys are in the camel case of its interface, or have underscores as in
 * files of its tables.
 */

import { readModelAnswer, FURTHER_ANSWERS } from '../chat/answers.ts';
import { resultWithError } from '../chat/content.ts';
import { jsonWithoutBytes, parseIfJson, parseStructured, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { readMeasures } from '../chat/measures.ts';
import { parseMessages, type ParsedMessage } from '../chat/messages.ts';
import { tokenCount, type ModelCall } from '../chat/modelCall.ts';
import { isRecord } from '../shared/guard.ts';
import { readReturn } from './scores.ts';
import { argumentsText, readTime, type Step } from './steps.ts';

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

/**
 * Returns the step that an observation is, or null if the value is not one.
 * @param given the id of the trace that it lies in
 */
export function toObservationStep(value: unknown, given: string | null = null): Step | null {
  if (!isRecord(value)) {
    return null;
  }
  const [trace, id, type] = [given ?? textAt(value, 'traceId', 'trace_id'), textAt(value, 'id'), textAt(value, 'type')];
  const kind = KINDS.get(type?.toUpperCase() ?? '');
  if (trace === null || id === null || kind === undefined) {
    return null;
  }
  const metadata = parseStructured(value['metadata']);
  const failed = value['level'] === 'ERROR' ? (textAt(value, 'statusMessage', 'status_message') ?? 'it failed') : null;
  const node = isRecord(metadata) ? textAt(metadata, 'langgraph_node', 'agent') : null;
  return {
    trace,
    id,
    parent: textAt(value, 'parentObservationId', 'parent_observation_id') ?? '',
    start: readTime(valueAt(value, 'startTime', 'start_time')),
    end: readTime(valueAt(value, 'endTime', 'end_time')),
    kind,
    agent: node ?? (type?.toUpperCase() === 'AGENT' ? textAt(value, 'name') : null),
    score: null,
    failed,
    answers: null,
    lacks: [],
    call: () => callOf(value),
    result: () => ({
      source: textAt(value, 'name') ?? 'tool',
      asked: argumentsText(value['input']),
      text: isMissing(value['output']) && failed === null ? null : resultWithError(value['output'], failed),
    }),
  };
}

export interface LangfuseTrace {
  readonly id: string;
  readonly steps: readonly Step[];
  readonly score: number | null;
}

/** Returns the trace that a value is, with its observations, or null if the value is not one. */
export function langfuseTrace(value: unknown): LangfuseTrace | null {
  const observations = isRecord(value) ? value['observations'] : null;
  const id = isRecord(value) ? textAt(value, 'id') : null;
  if (!isRecord(value) || id === null || !Array.isArray(observations)) {
    return null;
  }
  const steps = observations.flatMap((one: unknown) => toObservationStep(one, id) ?? []);
  const scores: readonly unknown[] = Array.isArray(value['scores']) ? value['scores'] : [];
  const score =
    scores.map((one) => readReturn(isRecord(one) ? one['value'] : null)).find((one) => one !== null) ?? null;
  return steps.length === 0 ? null : { id, steps, score };
}

function callOf(observation: Fields): ModelCall {
  const usage = [observation['usageDetails'], observation['usage_details'], observation['usage']]
    .map(parseIfJson)
    .find(isRecord);
  const count = (...keys: readonly string[]): number => tokenCount(valueAt(usage ?? {}, ...keys));
  const { said, further } = readModelAnswer(parseStructured(observation['output']));
  return {
    input: askedWith(parseStructured(observation['input'])),
    output: said,
    model: textAt(observation, 'model', 'providedModelName', 'provided_model_name'),
    promptTokens: count('input', 'promptTokens', 'prompt_tokens', 'input_tokens'),
    completionTokens: count('output', 'completionTokens', 'completion_tokens', 'output_tokens'),
    measures: readMeasures(observation),
    notes: further === 0 ? [] : [FURTHER_ANSWERS],
  };
}

const isMissing = (value: unknown): boolean => value === null || value === undefined;

/** Returns the messages of a list, of an object with a list, of one message, or of a user's text. */
function askedWith(value: unknown): readonly ParsedMessage[] {
  if (isMissing(value) || value === '') {
    return [];
  }
  const list: unknown = isRecord(value) ? (valueAt(value, 'messages', 'input', 'contents') ?? value) : value;
  const own = parseMessages(Array.isArray(list) ? list : [list]);
  return own.length > 0
    ? own
    : parseMessages([{ role: 'user', content: isRecord(value) ? jsonWithoutBytes(value) : value }]);
}
