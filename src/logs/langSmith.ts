/** Reads runs of LangSmith: one object for each run, with its episode in `trace_id`. */

import { readModelAnswer, FURTHER_ANSWERS } from '../chat/answers.ts';
import { resultWithError } from '../chat/content.ts';
import { fieldsAt, listAtKey, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { readMeasures } from '../chat/measures.ts';
import { parseMessages, type ParsedMessage } from '../chat/messages.ts';
import { tokenCount, type ModelCall } from '../chat/modelCall.ts';
import { isRecord } from '../shared/guard.ts';
import { readReturn } from './scores.ts';
import { argumentsText, readTime, type Step } from './steps.ts';

/** Returns the step that a run is, or null if the value is not a run. */
export function toRunStep(value: unknown): Step | null {
  if (!isRecord(value)) {
    return null;
  }
  const [id, type] = [textAt(value, 'id'), textAt(value, 'run_type')];
  if (id === null || type === null) {
    return null;
  }
  const metadata = fieldsAt(value['extra'], 'metadata');
  const outputs = fieldsAt(value, 'outputs');
  return {
    trace: textAt(value, 'trace_id') ?? id,
    id,
    parent: textAt(value, 'parent_run_id') ?? '',
    start: readTime(value['start_time']),
    end: readTime(value['end_time']),
    kind: type === 'llm' ? 'model' : type === 'tool' || type === 'retriever' ? 'tool' : 'other',
    agent: textAt(metadata, 'langgraph_node', 'lc_agent_name'),
    score: scoreOf(value['feedback_stats']),
    failed: textAt(value, 'error'),
    answers: textAt(fieldsAt(outputs, 'output'), 'tool_call_id') ?? textAt(fieldsAt(value, 'inputs'), 'tool_call_id'),
    lacks: [],
    call: () => callOf(value, metadata),
    result: () => ({
      source: textAt(value, 'name') ?? 'tool',
      asked: argumentsText(valueAt(fieldsAt(value, 'inputs'), 'input', 'query') ?? value['inputs']),
      text: toolText(value['outputs'], value['error']),
    }),
  };
}

/** The mean of the first feedback that is a number. */
const scoreOf = (feedback: unknown): number | null =>
  Object.values(isRecord(feedback) ? feedback : {})
    .map((one) => readReturn(isRecord(one) ? one['avg'] : null))
    .find((score) => score !== null) ?? null;

function toolText(outputs: unknown, error: unknown): string | null {
  const output = isRecord(outputs) ? (valueAt(outputs, 'output') ?? outputs) : outputs;
  const [message] = parseMessages([output]);
  const isNone = output === undefined || output === null || (isRecord(output) && Object.keys(output).length === 0);
  return isNone && typeof error !== 'string' ? null : resultWithError(isNone ? null : (message?.text ?? output), error);
}

/** Returns a run with all runs nested below it, or null for a run without any. */
export function flattenRuns(value: unknown): readonly Fields[] | null {
  if (!isRecord(value) || listAtKey(value, 'child_runs').length === 0 || textAt(value, 'run_type') === null) {
    return null;
  }
  const found: Fields[] = [];
  const waiting: unknown[] = [value];
  for (let run = waiting.pop(); run !== undefined && found.length < MOST_RUNS; run = waiting.pop()) {
    if (isRecord(run)) {
      found.push(run);
      waiting.push(...listAtKey(run, 'child_runs').toReversed());
    }
  }
  return found;
}
/** The most runs of one tree that are read. */
const MOST_RUNS = 200_000;

function callOf(run: Fields, metadata: Fields): ModelCall {
  const [inputs, outputs] = [fieldsAt(run, 'inputs'), fieldsAt(run, 'outputs')];
  const { said, further } = readModelAnswer(outputs);
  const usage = [
    fieldsAt(outputs, 'usage_metadata'),
    fieldsAt(outputs, 'usage'),
    fieldsAt(fieldsAt(outputs, 'llmOutput'), 'tokenUsage'),
    fieldsAt(fieldsAt(outputs, 'llm_output'), 'token_usage'),
    readMessageUsage(outputs),
    run,
  ].find((one) => Object.keys(one).some((key) => /tokens?$/iu.test(key)));
  const count = (...keys: readonly string[]): number => tokenCount(valueAt(usage ?? {}, ...keys));
  return {
    input: askedWith(inputs),
    output: said,
    model:
      textAt(metadata, 'ls_model_name') ?? textAt(fieldsAt(run['extra'], 'invocation_params'), 'model', 'model_name'),
    promptTokens: count('input_tokens', 'prompt_tokens', 'promptTokens'),
    completionTokens: count('output_tokens', 'completion_tokens', 'completionTokens'),
    measures: readMeasures(run, fieldsAt(run, 'extra'), metadata),
    notes: further === 0 ? [] : [FURTHER_ANSWERS],
  };
}

/** Returns the usage that LangChain keeps in the generated message. */
function readMessageUsage(outputs: Fields): Fields {
  const [first] = listAtKey(outputs, 'generations').flat();
  const message = fieldsAt(first, 'message');
  return fieldsAt('kwargs' in message ? message['kwargs'] : message, 'usage_metadata');
}

/** Returns the input messages, also from a list for each question, or from text prompts. */
export function askedWith(inputs: Fields): readonly ParsedMessage[] {
  const given = valueAt(inputs, 'messages', 'input', 'prompts', 'prompt', 'contents');
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  const isBatch = Array.isArray(list[0]) && !isPair(list[0]);
  const messages: readonly unknown[] = isBatch && Array.isArray(list[0]) ? list[0] : list;
  return parseMessages(
    messages.map((one) => (typeof one === 'string' ? { role: 'user', content: one } : unpackPair(one))),
  );
}

/** Turns `["user", "Hi"]`, a form of LangChain, into a message. */
export const unpackPair = (one: unknown): unknown => (isPair(one) ? { role: one[0], content: one[1] } : one);
const isPair = (one: unknown): one is readonly [string, unknown] =>
  Array.isArray(one) && one.length === 2 && typeof one[0] === 'string' && PAIRED.test(one[0]);
const PAIRED = /^(?:system|user|human|assistant|ai|tool)$/iu;
