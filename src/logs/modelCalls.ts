/**
 * Finds the spans that are calls of models and tools, and reads their messages. Supported
 * conventions: OpenTelemetry GenAI with messages as attributes (from 1.37), as events, as records
 * of a log, or as one attribute (pydantic-ai); OpenInference; OpenLLMetry; the AI SDK; Logfire;
 * MLflow; Google's ADK.
 */

import { readModelAnswer, FURTHER_ANSWERS } from '../chat/answers.ts';
import {
  asText,
  fieldsAt,
  listAtKey,
  parseIfJson,
  parseStructured,
  textAt,
  valueAt,
  type Fields,
} from '../chat/fields.ts';
import { readFinishReason } from '../chat/finish.ts';
import { readMeasures, type CallMeasures } from '../chat/measures.ts';
import { parseMessages, parseInstructions } from '../chat/messages.ts';
import { tokenCount, type ModelCall } from '../chat/modelCall.ts';
import { isRecord } from '../shared/guard.ts';
import { parseCutJson } from './cutJson.ts';
import { askedWith } from './langSmith.ts';
import { jsonText, buildList, type Attributes, type Span, type SpanEvent } from './spans.ts';
import type { Step, ToolResult } from './steps.ts';
import { readToolCallId, isToolCall, spanType, toolResult } from './toolCalls.ts';

const MODEL_OPERATIONS = ['chat', 'text_completion', 'generate_content', 'completion', 'generate'];
const MODEL_TYPES = ['CHAT_MODEL', 'LLM'];

/** Returns true if a span is a call of a model. */
function isModelCall({ name, attributes }: Span): boolean {
  const operation = textAt(attributes, 'gen_ai.operation.name');
  const kind = textAt(attributes, 'openinference.span.kind');
  const type = spanType(attributes) ?? '';
  return (
    MODEL_OPERATIONS.includes(operation ?? '') ||
    kind === 'LLM' ||
    MODEL_TYPES.includes(type) ||
    type === 'GENERATION' ||
    /\.(doGenerate|doStream)$/u.test(name) ||
    (operation === null &&
      kind === null &&
      ('gen_ai.prompt.0.role' in attributes ||
        'gen_ai.completion.0.content' in attributes ||
        ['chat', 'completion'].includes(textAt(attributes, 'llm.request.type') ?? '') ||
        ('request_data' in attributes && 'response_data' in attributes) ||
        ('gen_ai.request.model' in attributes && !('gen_ai.tool.name' in attributes))))
  );
}

/** Returns true if a span that is no call has an agent's messages. Its calls may be missing. */
const isAgentCall = ({ attributes, events }: Span): boolean =>
  ['gen_ai.output.messages', 'gen_ai.completion.0.content', 'gen_ai.content.completion'].some(
    (key) => key in attributes,
  ) || events.some(({ name }) => AGENT_EVENTS.has(name));
const AGENT_EVENTS: ReadonlySet<string> = new Set([
  'gen_ai.choice',
  'gen_ai.user.message',
  'gen_ai.assistant.message',
  'gen_ai.content.completion',
  'gen_ai.client.inference.operation.details',
]);

/** Returns the agent that a span names, or null. */
function findAgentName({ name, attributes }: Span): string | null {
  const metadata = parseStructured(attributes['metadata']);
  const node = isRecord(metadata) ? textAt(metadata, 'langgraph_node') : null;
  const isAgent =
    textAt(attributes, 'openinference.span.kind') === 'AGENT' ||
    textAt(attributes, 'traceloop.span.kind') === 'agent' ||
    spanType(attributes) === 'AGENT';
  return (
    textAt(
      attributes,
      'gen_ai.agent.name',
      'agent.name',
      'agent_name',
      'graph.node.id',
      'ai.telemetry.functionId',
      'crewai.agent.role',
      'traceloop.association.properties.langgraph_node',
    ) ??
    node ??
    (isAgent ? (textAt(attributes, 'traceloop.entity.name') ?? name) : null)
  );
}

/** Reads attributes, and notes which of them hold JSON that a limit cut off. */
class AttributeReader {
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly cut = new Set<string>();

  constructor({ attributes, events }: Pick<Span, 'attributes' | 'events'>, cut = new Set<string>()) {
    this.attributes = attributes;
    this.events = events;
    this.cut = cut;
  }

  /** Returns the value of an attribute that may be JSON. JSON that was cut is read up to the cut. */
  json(...keys: readonly string[]): unknown {
    for (const key of keys) {
      const value = jsonText(this.attributes[key]);
      if (value !== undefined && value !== null) {
        const parsed = parseStructured(value);
        const rest = typeof parsed === 'string' ? parseCutJson(parsed) : undefined;
        if (rest !== undefined) {
          this.cut.add(key);
        }
        return rest ?? parsed;
      }
    }
    return undefined;
  }

  text(...keys: readonly string[]): string | null {
    return textAt(this.attributes, ...keys);
  }

  list(prefix: string): unknown[] {
    return buildList(this.attributes, prefix);
  }
}

function modelCall(span: Span): ModelCall {
  const { attributes } = span;
  const reader = new AttributeReader(span);
  const found = readFirstForm(reader);
  const usage = (): Fields =>
    [
      fieldsAt(reader.json('response_data'), 'usage'),
      fieldsAt(reader.json('gcp.vertex.agent.llm_response'), 'usage_metadata'),
      fieldsOf(reader.json('mlflow.chat.tokenUsage')),
      fieldsAt(reader.json('mlflow.spanOutputs'), 'usage'),
    ].find((one) => Object.keys(one).length > 0) ?? {};
  const tokens = (...keys: readonly string[]): number => tokenCount(valueAt(attributes, ...keys));
  return {
    input: found?.input() ?? [],
    output: found?.output ?? [],
    model:
      textAt(attributes, 'gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name', 'ai.model.id') ??
      textAt(fieldsOf(reader.json('mlflow.spanOutputs')), 'model') ??
      textAt(fieldsOf(reader.json('mlflow.spanInputs', 'request_data')), 'model'),
    promptTokens:
      tokens(
        'gen_ai.usage.input_tokens',
        'gen_ai.usage.prompt_tokens',
        'llm.token_count.prompt',
        'ai.usage.promptTokens',
        'ai.usage.inputTokens',
      ) || tokenCount(valueAt(usage(), 'prompt_tokens', 'input_tokens', 'prompt_token_count')),
    completionTokens:
      tokens(
        'gen_ai.usage.output_tokens',
        'gen_ai.usage.completion_tokens',
        'llm.token_count.completion',
        'ai.usage.completionTokens',
        'ai.usage.outputTokens',
      ) || tokenCount(valueAt(usage(), 'completion_tokens', 'output_tokens', 'candidates_token_count')),
    /** Computed only when the message is stored, not during the search for it. */
    get measures(): CallMeasures {
      return readMeasures(attributes, fieldsOf(reader.json('mlflow.spanInputs', 'request_data')));
    },
    notes: [
      ...[...reader.cut].map((key) => `attributes that a limit of the recording program cut off (${key})`),
      ...(found?.further === undefined || found.further === 0 ? [] : [FURTHER_ANSWERS]),
      ...(found === null ? describeUnread(attributes) : []),
    ],
  };
}

/** Returns the output of a call, and at least the instructions of its input. */
function instructedCall(span: Span): Pick<ModelCall, 'input' | 'output'> {
  const found = readFirstForm(new AttributeReader(span));
  return { output: found?.output ?? [], input: (found?.instructions ?? found?.input)?.() ?? [] };
}

/** Returns the input and output of an agent. Either may be in a span of its own. */
function agentCall(span: Span): ModelCall {
  const call = modelCall(span);
  return call.output.length > 0 ? call : { ...call, input: asEvents(new AttributeReader(span)).input(), notes: [] };
}

/** Returns notes on unknown attributes. Logfire writes a streamed answer as a separate span. */
function describeUnread(attributes: Attributes): string[] {
  if (fieldsOf(parseIfJson(attributes['request_data']))['stream'] === true) {
    return [STREAMED];
  }
  const key = Object.entries(attributes).find(
    ([name, value]) => SAYS.test(name) && !TELLS.test(name) && typeof value === 'string' && value.length > 1,
  )?.[0];
  return key === undefined ? [] : [`${UNREAD} (${key})`];
}
const STREAMED = 'requests of streams, whose answers are separate spans';
export const UNREAD = 'calls of models whose messages are in an unknown form';
const SAYS =
  /(?:^|[._])(?:completions?|outputs?|response|answer|content|messages?|events|response_data|result)(?:[._]|$)/iu;
const TELLS =
  /input|prompt|request|instruction|definition|tool|model|id$|ids$|finish|stop|token|format|type|count|mime|status|time|provider|header|stream|fingerprint|tier/iu;

type Messages = ModelCall['input'];

/** The output of a call and its input, read by the first form that finds an output. */
interface Said {
  readonly output: Messages;
  readonly input: () => Messages;
  /** At least the instructions of the input, if they can be read without all of it. */
  readonly instructions?: () => Messages;
  /** The number of answers beside the first. */
  readonly further?: number;
}

/** Returns the result of the first form that finds an output. */
function readFirstForm(reader: AttributeReader): Said | null {
  for (const form of FORMS) {
    const said = form(reader);
    if (said.output.length > 0) {
      return said;
    }
  }
  return null;
}

const NOTHING: Said = { output: [], input: () => [] };

/** Reads `gen_ai.input.messages` and `gen_ai.output.messages`, as JSON texts or structured. */
function asAttributes(reader: AttributeReader): Said {
  const given = reader.json('gen_ai.output.messages');
  const output: readonly unknown[] = Array.isArray(given) ? given : [];
  // Answers that each have a finish reason are choices. Others are pieces of one answer.
  const instructions = (): Messages => parseInstructions(reader.json('gen_ai.system_instructions'));
  const isChoices = output.length > 1 && output.every((one) => isRecord(one) && readFinishReason(one) !== null);
  return {
    output: parseMessages(isChoices ? output.slice(0, 1) : output),
    further: isChoices ? output.length - 1 : 0,
    input: () => [...instructions(), ...parseMessages(reader.json('gen_ai.input.messages'))],
    instructions: () => {
      const asked = reader.json('gen_ai.input.messages');
      return [...instructions(), ...parseMessages(Array.isArray(asked) ? asked.filter(mayInstruct) : asked)];
    },
  };
}

/** Returns true unless a message itself has a role that cannot instruct. */
const mayInstruct = (message: unknown): boolean =>
  !isRecord(message) || !TALK.has(message['role']) || ['message', 'kwargs', 'data'].some((key) => key in message);
const TALK: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool']);

/** Reads the same attributes from events: one event, or one for each side. */
function asDetails({ events, cut }: AttributeReader): Said {
  const details = events.filter(({ name }) => name === 'gen_ai.client.inference.operation.details');
  const attributes = Object.assign({}, ...details.map((event) => event.attributes)) as Attributes;
  return details.length === 0 ? NOTHING : asAttributes(new AttributeReader({ attributes, events: [] }, cut));
}

const asOpenInference = (reader: AttributeReader): Said => ({
  output: parseMessages(reader.list('llm.output_messages').map(withRole('assistant'))),
  input: () => {
    // A role may be lost if attributes were dropped. The remaining text is kept.
    const listed = reader.list('llm.input_messages').map(withRole('user'));
    const messages = parseMessages(listed);
    // Content in parts is not written for its message. Only the whole request has it.
    const whole = messages.length < listed.length ? askedIn(reader, 'input.value') : [];
    return whole.length === listed.length ? whole : messages;
  },
});

/** Reads text completions: `llm.prompts.0.prompt.text`, `llm.choices.0.completion.text`. */
const asPrompts = (reader: AttributeReader): Said => ({
  output: readCompletionTexts(reader, 'llm.choices', 'completion', 'assistant'),
  input: () => readCompletionTexts(reader, 'llm.prompts', 'prompt', 'user'),
  further: Math.max(0, reader.list('llm.choices').length - 1),
});

const readCompletionTexts = (reader: AttributeReader, list: string, key: string, role: string): Messages =>
  parseMessages(
    reader
      .list(list)
      .slice(0, 1)
      .map((one) => ({ role, content: isRecord(one) && isRecord(one[key]) ? one[key]['text'] : undefined })),
  );

function askedIn(reader: AttributeReader, ...keys: readonly string[]): Messages {
  const input = reader.json(...keys);
  return askedWith(isRecord(input) ? input : { input });
}

/** Reads the input and output of a model client, as text or JSON. */
const asValues =
  (given: readonly string[], asked: readonly string[]) =>
  (reader: AttributeReader): Said => {
    const { said, further } = readModelAnswer(reader.json(...given));
    return { output: said, further, input: () => askedIn(reader, ...asked) };
  };

/** Reads OpenLLMetry: `gen_ai.prompt.0.role`. Thoughts come before the answer. */
function asIndexed(reader: AttributeReader): Said {
  const all = reader.list('gen_ai.completion').map(withParts);
  const thoughts = all.filter(isThought).map((one) => ({ ...one, role: 'assistant' }));
  const [first, ...others] = all.filter((one) => !isThought(one));
  return {
    output: parseMessages([...thoughts, ...(first === undefined ? [] : [withAssistantRole(first)])]),
    input: () => parseMessages(reader.list('gen_ai.prompt').map(withParts)),
    further: others.length,
  };
}

const isThought = (one: unknown): one is Fields => isRecord(one) && one['role'] === 'thinking';

/** Opens a message whose content is parts as JSON, such as pictures beside a text. */
function withParts(message: unknown): unknown {
  const content = isRecord(message) ? parseStructured(message['content']) : null;
  const isParts = Array.isArray(content) && content.every((part) => isRecord(part) && typeof part['type'] === 'string');
  return isRecord(message) && isParts && content.length > 0 ? { ...message, content } : message;
}

function asAiSdk(reader: AttributeReader): Said {
  const text = reader.text('ai.response.text', 'ai.response.object', 'ai.result.text', 'ai.result.object');
  const reasoning = reader.text('ai.response.reasoning');
  const calls = reader.json('ai.response.toolCalls', 'ai.result.toolCalls');
  const message = { role: 'assistant', content: text ?? '', reasoning, tool_calls: calls };
  const finish = reader.text('ai.response.finishReason', 'ai.finishReason');
  return {
    output:
      text === null && reasoning === null && !Array.isArray(calls)
        ? []
        : parseMessages([{ ...message, finish_reason: finish }]),
    input: () => {
      const messages = parseMessages(reader.json('ai.prompt.messages'));
      return messages.length > 0 ? messages : askedWith(fieldsOf(reader.json('ai.prompt')));
    },
  };
}

const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});

const openedFields = (attributes: Attributes): Fields => ({
  ...attributes,
  ...fieldsOf(parseIfJson(attributes['gen_ai.event.content'])),
});

/** Reads events `gen_ai.user.message`, ..., `gen_ai.choice`, in Azure with content as JSON. */
function asEvents({ events }: AttributeReader): Said {
  const opened = events.map(({ name, attributes }) => ({
    name: name === '' ? (textAt(attributes, 'event.name') ?? '') : name,
    fields: openedFields(attributes),
  }));
  const asked = (events: typeof opened): unknown[] =>
    events.flatMap(({ name, fields }) => {
      const kind = /^gen_ai\.(system|user|assistant|tool)\.message$/u.exec(name)?.[1];
      const content = readContent(valueAt(fields, 'content'));
      return kind === undefined
        ? []
        : [{ role: kind, ...fields, content, tool_calls: parseStructured(fields['tool_calls']) }];
    });
  const choices = opened.filter(({ name }) => name === 'gen_ai.choice').map(({ fields }) => fields);
  const first = choices.filter((fields) => Number(fields['index'] ?? 0) === 0);
  // Logfire writes the items of a response as messages after those of the input.
  const last = opened.findLastIndex(({ name }) => /^gen_ai\.(?:system|user|tool)\.message$/u.test(name));
  const own = first.length > 0 ? [] : parseMessages(asked(opened.slice(last + 1)));
  return {
    output: first.length > 0 ? parseMessages(first.map(choiceMessage)) : own,
    input: () => parseMessages(asked(own.length === 0 ? opened : opened.slice(0, last + 1))),
    further: choices.length - first.length,
  };
}

/** Returns the content of an event's message. Azure's agents have `{text: {value}}`. */
function readContent(given: unknown): unknown {
  const content = parseStructured(given);
  const text = isRecord(content) ? content['text'] : null;
  return isRecord(text) && 'value' in text ? text['value'] : content;
}

/** Returns the message of a choice: an object, a list of parts, or a text. */
function choiceMessage(fields: Fields): unknown {
  const message = parseStructured(fields['message']);
  const said = isRecord(message) ? message : message === undefined ? {} : { content: message };
  const content = parseStructured(valueAt(said, 'content') ?? fields['content']);
  const calls = parseStructured(valueAt(said, 'tool_calls') ?? fields['tool_calls']);
  return withAssistantRole({ ...fields, role: 'assistant', ...said, content, tool_calls: calls, message: undefined });
}

/** Reads pydantic-ai: the events of a call in one attribute. */
function asEventList(reader: AttributeReader): Said {
  const events = reader.json('events');
  return Array.isArray(events)
    ? asEvents(
        new AttributeReader({
          attributes: {},
          events: events
            .filter(isRecord)
            .map((event) => ({ name: textAt(event, 'event.name') ?? '', attributes: event })),
        }),
      )
    : NOTHING;
}

/**
 * Reads events `gen_ai.content.prompt` and `gen_ai.content.completion`, each with a list of
 * messages as JSON, or a text.
 */
function asContentEvents({ events }: AttributeReader): Said {
  const listOf = (role: string, name: string, key: string): unknown[] =>
    events
      .filter((event) => event.name === name)
      .flatMap(({ attributes }) => {
        const value = parseStructured(attributes[key]);
        const list: readonly unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value];
        return list.map((one) => (isRecord(one) ? one : { role, content: one }));
      });
  return {
    output: parseMessages(listOf('assistant', 'gen_ai.content.completion', 'gen_ai.completion').map(withAssistantRole)),
    input: () => parseMessages(listOf('user', 'gen_ai.content.prompt', 'gen_ai.prompt')),
  };
}

/** Reads Logfire: the request and the response of a client. */
function asRequest(reader: AttributeReader): Said {
  const response = fieldsOf(reader.json('response_data'));
  const { said, further } = readModelAnswer(valueAt(response, 'message', 'combined_chunk_content') ?? response);
  return {
    output: said.length > 0 ? said : parseMessages([{ role: 'assistant', ...fieldsAt(response, 'message') }]),
    input: () => {
      const asked = fieldsOf(reader.json('request_data'));
      return [...parseInstructions(valueAt(asked, 'system', 'instructions')), ...askedWith(asked)];
    },
    further,
  };
}

/** Reads Google's ADK: a request and a response of Gemini. */
function asGemini(reader: AttributeReader): Said {
  const response = fieldsOf(reader.json('gcp.vertex.agent.llm_response'));
  const content = { role: 'model', ...fieldsAt(response, 'content') };
  return {
    output: parseMessages([{ ...response, content }]),
    input: () => {
      const request = fieldsOf(reader.json('gcp.vertex.agent.llm_request'));
      return [
        ...parseInstructions(valueAt(fieldsAt(request, 'config'), 'system_instruction', 'systemInstruction')),
        ...parseMessages(listAtKey(request, 'contents')),
      ];
    },
  };
}

/** Reads OpenLIT, whose tool calls are attributes, with several calls joined. */
function asToolAttributes(reader: AttributeReader): Said {
  const [names, given] = [
    reader.text('gen_ai.tool.name'),
    reader.text('gen_ai.tool.args', 'gen_ai.tool.call.arguments'),
  ];
  const ids = reader.text('gen_ai.tool.call.id')?.split(', ') ?? [];
  const called = names?.split(', ') ?? [];
  // The arguments of several calls cannot be told apart, so all of them go to the first.
  const calls = called.map((name, at) => ({ name, id: ids[at] ?? null, arguments: at === 0 ? (given ?? '') : '' }));
  const text = reader.text('gen_ai.content.completion', 'gen_ai.completion');
  return called.length === 0
    ? NOTHING
    : {
        output: parseMessages([{ role: 'assistant', content: text ?? '', tool_calls: calls }]),
        input: () => askedIn(reader, 'gen_ai.content.prompt', 'gen_ai.prompt'),
      };
}

/** The raw values come last, because they tell less about the messages. */
const FORMS: readonly ((reader: AttributeReader) => Said)[] = [
  asAttributes,
  asDetails,
  asOpenInference,
  asPrompts,
  asIndexed,
  asAiSdk,
  asEvents,
  asEventList,
  asContentEvents,
  asRequest,
  asGemini,
  asValues(['mlflow.spanOutputs'], ['mlflow.spanInputs']),
  asValues(['langfuse.observation.output'], ['langfuse.observation.input']),
  asToolAttributes,
  asValues(['gen_ai.completion', 'gen_ai.content.completion'], ['gen_ai.prompt', 'gen_ai.content.prompt']),
  asValues(['output.value'], ['input.value']),
  asValues(['traceloop.entity.output'], ['traceloop.entity.input']),
];

/** Adds a role to a message of OpenInference that lost its own. */
const withRole =
  (role: string) =>
  (value: unknown): unknown => {
    const message = isRecord(value) && isRecord(value['message']) ? value['message'] : null;
    return message === null || 'role' in message ? value : { message: { role, ...message } };
  };

/** Adds the model's role to a message without a role. */
const withAssistantRole = (value: unknown): unknown =>
  isRecord(value) && !('role' in value) && !isRecord(value['message']) ? { ...value, role: 'assistant' } : value;

/** Turns a span into a step. */
export function toSpanStep(span: Span): Step {
  const { trace, id, parent, start, end, failed, dropped, name } = span;
  const kind = isModelCall(span) ? 'model' : isToolCall(span) ? 'tool' : isAgentCall(span) ? 'agent' : 'other';
  let read: ModelCall | undefined;
  let result: ToolResult | undefined;
  return {
    trace,
    id,
    parent,
    start,
    end,
    kind,
    failed,
    agent: findAgentName(span),
    score: null,
    answers: kind === 'tool' ? readToolCallId(span) : null,
    lacks:
      dropped > 0 && kind !== 'other'
        ? [
            [
              `attributes that a limit of the recording program dropped (${asText(name).slice(0, LONGEST_NAME)})`,
              dropped,
            ],
          ]
        : [],
    instructed: () => instructedCall(span),
    call: () => (read ??= kind === 'agent' ? agentCall(span) : modelCall(span)),
    result: () => (result ??= toolResult(span)),
  };
}
const LONGEST_NAME = 60;
