/** Runs of LangSmith, as its client lists them: one object for each run, its episode named by `trace_id`. */
import { isRecord } from '../shared/guard.ts';
import { asText, textAt, valueAt } from '../chat/fields.ts';
import { parsedMessages, type ParsedMessage } from '../chat/messages.ts';
import { returnOf } from './conversations.ts';
import { tokenCount, type ModelCall } from '../chat/modelCall.ts';
import { nanosecondsOf, type Step } from './steps.ts';

type Fields = Readonly<Record<string, unknown>>;

const fieldsAt = (holder: unknown, key: string): Fields => {
  const value = isRecord(holder) ? holder[key] : undefined;
  return isRecord(value) ? value : {};
};

/** The step that a run is; null for a value that is none. */
export function stepOfRun(value: unknown): Step | null {
  if (!isRecord(value)) {
    return null;
  }
  const [id, type] = [textAt(value, 'id'), textAt(value, 'run_type')];
  if (id === null || type === null) {
    return null;
  }
  const metadata = fieldsAt(value['extra'], 'metadata');
  return {
    trace: textAt(value, 'trace_id') ?? id,
    id,
    parent: textAt(value, 'parent_run_id') ?? '',
    start: startOf(value['start_time']),
    kind: type === 'llm' ? 'model' : type === 'tool' ? 'tool' : 'other',
    agent: textAt(metadata, 'langgraph_node', 'lc_agent_name'),
    score: scoreOf(value['feedback_stats']),
    call: () => callOf(value, metadata),
    result: () => ({ source: textAt(value, 'name') ?? 'tool', text: toolText(value['outputs']) }),
  };
}

/** Milliseconds since 1970, or ISO 8601. */
const startOf = (value: unknown): bigint =>
  typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) * 1_000_000n : nanosecondsOf(value);

/** The mean of the first feedback that is a number. */
const scoreOf = (feedback: unknown): number | null =>
  Object.values(isRecord(feedback) ? feedback : {})
    .map((one) => returnOf(isRecord(one) ? one['avg'] : null))
    .find((score) => score !== null) ?? null;

function toolText(outputs: unknown): string {
  const output = isRecord(outputs) ? (valueAt(outputs, 'output') ?? outputs) : outputs;
  const [message] = parsedMessages([output]);
  return message?.text ?? asText(output);
}

function callOf(run: Fields, metadata: Fields): ModelCall {
  const [inputs, outputs] = [fieldsAt(run, 'inputs'), fieldsAt(run, 'outputs')];
  const usage = [
    fieldsAt(outputs, 'usage_metadata'),
    fieldsAt(outputs, 'usage'),
    fieldsAt(fieldsAt(outputs, 'llmOutput'), 'tokenUsage'),
    fieldsAt(fieldsAt(outputs, 'llm_output'), 'token_usage'),
    run,
  ].find((one) => Object.keys(one).some((key) => /tokens?$/iu.test(key)));
  const count = (...keys: readonly string[]): number => tokenCount(valueAt(usage ?? {}, ...keys));
  return {
    input: askedWith(inputs),
    output: saidBy(outputs),
    model:
      textAt(metadata, 'ls_model_name') ?? textAt(fieldsAt(run['extra'], 'invocation_params'), 'model', 'model_name'),
    promptTokens: count('input_tokens', 'prompt_tokens', 'promptTokens'),
    completionTokens: count('output_tokens', 'completion_tokens', 'completionTokens'),
  };
}

/** Messages, in a list for each of several questions or not; or prompts of a model that completes text. */
export function askedWith(inputs: Fields): readonly ParsedMessage[] {
  const given = valueAt(inputs, 'messages', 'input', 'prompts', 'prompt');
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  const messages: readonly unknown[] = Array.isArray(list[0]) ? list[0] : list;
  return parsedMessages(
    messages.map((one) => (typeof one === 'string' ? { role: 'user', content: one } : pairOf(one))),
  );
}

/** `["user", "Hi"]`, as LangChain allows. */
const pairOf = (one: unknown): unknown =>
  Array.isArray(one) && one.length === 2 ? { role: one[0] as unknown, content: one[1] as unknown } : one;

/** `generations` of LangChain; `choices` of OpenAI; a message; or messages, of which the last is what it said. */
export function saidBy(outputs: Fields): readonly ParsedMessage[] {
  const [generations, choices, messages] = ['generations', 'choices', 'messages'].map((key) => outputs[key]);
  if (Array.isArray(generations)) {
    const first: unknown = Array.isArray(generations[0]) ? generations[0][0] : generations[0];
    const text = isRecord(first) ? textAt(first, 'text') : null;
    const message = parsedMessages([first]);
    return message.length > 0 || text === null ? message : parsedMessages([{ role: 'assistant', content: text }]);
  }
  if (Array.isArray(choices)) {
    return parsedMessages(choices.slice(0, 1));
  }
  if (Array.isArray(messages)) {
    return parsedMessages(messages.slice(-1)).filter(({ role }) => role === 'assistant');
  }
  const output = valueAt(outputs, 'output', 'message', 'content', 'text');
  return typeof output === 'string' && outputs['role'] === undefined
    ? parsedMessages([{ role: 'assistant', content: output }])
    : parsedMessages([isRecord(output) ? output : outputs]).filter(({ role }) => role === 'assistant');
}
