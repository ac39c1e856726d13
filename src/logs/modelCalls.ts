/**
 * Which spans are calls of models and tools, and what was said in them, in the conventions in use: OpenTelemetry GenAI
 * with messages as attributes (from 1.37), or as events (before); OpenInference; OpenLLMetry; the AI SDK.
 */
import { isRecord } from '../shared/guard.ts';
import { asText, parsedJson, textAt, valueAt } from '../chat/fields.ts';
import { parsedMessages } from '../chat/messages.ts';
import { askedWith, saidBy } from './langSmith.ts';
import { listAt, type Attributes, type Span } from './spans.ts';
import { tokenCount, type ModelCall } from '../chat/modelCall.ts';
import { type Step } from './steps.ts';

const MODEL_OPERATIONS = ['chat', 'text_completion', 'generate_content'];

/** Whether a span is a call of a model. */
function isModelCall({ name, attributes }: Span): boolean {
  const operation = textAt(attributes, 'gen_ai.operation.name');
  const kind = textAt(attributes, 'openinference.span.kind');
  return (
    MODEL_OPERATIONS.includes(operation ?? '') ||
    kind === 'LLM' ||
    /\.(doGenerate|doStream)$/u.test(name) ||
    (operation === null &&
      kind === null &&
      ('gen_ai.prompt.0.role' in attributes || 'gen_ai.request.model' in attributes))
  );
}

/** Whether a span is a call of a tool. */
const isToolCall = ({ name, attributes }: Span): boolean =>
  textAt(attributes, 'gen_ai.operation.name') === 'execute_tool' ||
  textAt(attributes, 'openinference.span.kind') === 'TOOL' ||
  textAt(attributes, 'traceloop.span.kind') === 'tool' ||
  name === 'ai.toolCall';

/** What a tool is called, and what it gave. */
const toolResult = ({ name, attributes }: Span): { readonly source: string; readonly text: string } => ({
  source: textAt(attributes, 'gen_ai.tool.name', 'tool.name', 'ai.toolCall.name', 'traceloop.entity.name') ?? name,
  text: asText(
    valueAt(attributes, 'gen_ai.tool.call.result', 'output.value', 'ai.toolCall.result', 'traceloop.entity.output'),
  ),
});

/** The agent that a span names; null where it names none. */
function agentOf({ name, attributes }: Span): string | null {
  const metadata = parsedJson(attributes['metadata']);
  const node = isRecord(metadata) ? textAt(metadata, 'langgraph_node') : null;
  const isAgent =
    textAt(attributes, 'openinference.span.kind') === 'AGENT' || textAt(attributes, 'traceloop.span.kind') === 'agent';
  return (
    textAt(attributes, 'gen_ai.agent.name', 'agent.name', 'graph.node.id', 'ai.telemetry.functionId') ??
    node ??
    (isAgent ? (textAt(attributes, 'traceloop.entity.name') ?? name) : null)
  );
}

function modelCall(span: Span): ModelCall {
  const { attributes } = span;
  const found = firstOf(span, FORMS);
  return {
    input: found?.input ?? [],
    output: found?.output ?? [],
    model: textAt(attributes, 'gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name', 'ai.model.id'),
    promptTokens: tokensAt(
      attributes,
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens',
      'llm.token_count.prompt',
    ),
    completionTokens: tokensAt(
      attributes,
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'llm.token_count.completion',
    ),
  };
}

/** What the first form reads that finds something said. */
function firstOf(span: Span, forms: readonly ((span: Span) => Said)[]): Pick<ModelCall, 'input' | 'output'> | null {
  for (const form of forms) {
    const { output, input } = form(span);
    if (output.length > 0) {
      return { output, input: input() };
    }
  }
  return null;
}

type Messages = ModelCall['input'];

/** What was said, and what it was said to: that is read of the form that says something. */
interface Said {
  readonly output: Messages;
  readonly input: () => Messages;
}

/** `gen_ai.input.messages` and `gen_ai.output.messages`, as JSON texts or structured. */
function asAttributes({ attributes }: Pick<Span, 'attributes'>): Said {
  return {
    output: parsedMessages(parsedJson(attributes['gen_ai.output.messages'])),
    input: () => {
      const instructions = parsedJson(attributes['gen_ai.system_instructions']);
      const system = instructions === undefined ? [] : parsedMessages([{ role: 'system', content: instructions }]);
      return [...system, ...parsedMessages(parsedJson(attributes['gen_ai.input.messages']))];
    },
  };
}

/** The same attributes, of the event that the conventions name for them. */
const asDetails = ({ events }: Span): Said =>
  asAttributes({
    attributes: events.find(({ name }) => name === 'gen_ai.client.inference.operation.details')?.attributes ?? {},
  });

const asOpenInference = ({ attributes }: Span): Said => ({
  output: parsedMessages(listAt(attributes, 'llm.output_messages')),
  input: () => parsedMessages(listAt(attributes, 'llm.input_messages')),
});

/** A model that completes texts: `llm.prompts.0.prompt.text`, `llm.choices.0.completion.text`. */
const asPrompts = ({ attributes }: Span): Said => ({
  output: textsOf(attributes, 'llm.choices', 'completion', 'assistant'),
  input: () => textsOf(attributes, 'llm.prompts', 'prompt', 'user'),
});

const textsOf = (attributes: Attributes, list: string, key: string, role: string): Messages =>
  parsedMessages(
    listAt(attributes, list)
      .slice(0, 1)
      .map((one) => ({ role, content: isRecord(one) && isRecord(one[key]) ? one[key]['text'] : undefined })),
  );

/** What a text holds as JSON, where that is an object or a list: another value is a text that looks like one. */
function structured(value: unknown): unknown {
  const parsed = parsedJson(value);
  return isRecord(parsed) || Array.isArray(parsed) ? parsed : value;
}

/** `input.value` and `output.value` of a call of a model, as text, or as what its client was given and gave. */
function asValues({ attributes }: Span): Said {
  if (textAt(attributes, 'openinference.span.kind') !== 'LLM') {
    return { output: [], input: () => [] };
  }
  const given = structured(attributes['output.value']);
  return {
    output: saidBy(isRecord(given) ? given : { output: given }),
    input: () => {
      const asked = structured(attributes['input.value']);
      return askedWith(isRecord(asked) ? asked : { input: asked });
    },
  };
}

/** OpenLLMetry: `gen_ai.prompt.0.role`, `gen_ai.completion.0.content`. */
const asIndexed = ({ attributes }: Span): Said => ({
  output: parsedMessages(listAt(attributes, 'gen_ai.completion').map(assistant)),
  input: () => parsedMessages(listAt(attributes, 'gen_ai.prompt')),
});

function asAiSdk({ attributes }: Span): Said {
  const text = textAt(attributes, 'ai.response.text', 'ai.response.object', 'ai.result.text');
  const calls = parsedJson(valueAt(attributes, 'ai.response.toolCalls', 'ai.result.toolCalls'));
  const message = { role: 'assistant', content: text ?? '', tool_calls: calls };
  const finish = textAt(attributes, 'ai.response.finishReason', 'ai.finishReason');
  return {
    output: text === null && !Array.isArray(calls) ? [] : parsedMessages([{ ...message, finish_reason: finish }]),
    input: () => parsedMessages(parsedJson(attributes['ai.prompt.messages'])),
  };
}

/** Events `gen_ai.user.message`, ..., `gen_ai.choice`, one for each message. */
function asEvents({ events }: Span): Said {
  const asked = (): unknown[] =>
    events.flatMap(({ name, attributes }) => {
      const kind = /^gen_ai\.(system|user|assistant|tool)\.message$/u.exec(name)?.[1];
      return kind === undefined
        ? []
        : [{ role: kind, ...attributes, tool_calls: parsedJson(attributes['tool_calls']) }];
    });
  const choices = events.flatMap(({ name, attributes }) => {
    const message = parsedJson(attributes['message']);
    return name === 'gen_ai.choice'
      ? [
          assistant({
            ...attributes,
            ...(isRecord(message) ? message : typeof message === 'string' && { content: message }),
            message: undefined,
          }),
        ]
      : [];
  });
  return { output: parsedMessages(choices), input: () => parsedMessages(asked()) };
}

/** Events `gen_ai.content.prompt` and `gen_ai.content.completion`, each with a list of messages as JSON. */
function asContentEvents({ events }: Span): Said {
  const listOf = (name: string, key: string): unknown[] =>
    events.filter((event) => event.name === name).flatMap(({ attributes }) => parsedJson(attributes[key]) ?? []);
  return {
    output: parsedMessages(listOf('gen_ai.content.completion', 'gen_ai.completion').map(assistant)),
    input: () => parsedMessages(listOf('gen_ai.content.prompt', 'gen_ai.prompt')),
  };
}

/** The values come last: what is in them is said with less. */
const FORMS = [
  asAttributes,
  asDetails,
  asOpenInference,
  asPrompts,
  asIndexed,
  asAiSdk,
  asEvents,
  asContentEvents,
  asValues,
] as const;

/** A message whose role is left out where it can only be the model's. */
const assistant = (value: unknown): unknown =>
  isRecord(value) && !('role' in value) && !isRecord(value['message']) ? { ...value, role: 'assistant' } : value;

const tokensAt = (attributes: Attributes, ...keys: readonly string[]): number =>
  tokenCount(valueAt(attributes, ...keys));

/** A span as a step. */
export function stepOfSpan(span: Span): Step {
  const { trace, id, parent, start } = span;
  const kind = isModelCall(span) ? 'model' : isToolCall(span) ? 'tool' : 'other';
  let read: ModelCall | undefined;
  const [call, result] = [() => (read ??= modelCall(span)), () => toolResult(span)];
  return { trace, id, parent, start, kind, agent: agentOf(span), score: null, call, result };
}
