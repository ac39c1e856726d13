/** Spans that are calls of tools: what a tool is called, what it was called with, and what it gave. */
import { resultWithError } from '../chat/content.ts';
import { fieldsAt, structured, textAt, valueAt } from '../chat/fields.ts';
import { parsedMessages, type ParsedMessage } from '../chat/messages.ts';
import { isRecord } from '../shared/guard.ts';
import { jsonText, listAt, type Attributes, type Span } from './spans.ts';
import { argumentsText, type ToolResult } from './steps.ts';

/** The kind of a span as MLflow and Langfuse name it, in capitals; null for none. */
export const spanType = (attributes: Attributes): string | null => {
  const type = jsonText(attributes['mlflow.spanType']) ?? attributes['langfuse.observation.type'];
  return typeof type === 'string' ? type.toUpperCase() : null;
};

/** Google's ADK writes what several tools gave together once more. */
const MERGED = '(merged tools)';
const RETRIEVER = 'RETRIEVER';

/** Whether a span is a call of a tool; one that searches for documents is one. */
export function isToolCall({ name, attributes }: Span): boolean {
  const [operation, tool] = [textAt(attributes, 'gen_ai.operation.name'), textAt(attributes, 'gen_ai.tool.name')];
  const kinds = [textAt(attributes, 'openinference.span.kind'), spanType(attributes)];
  return (
    tool !== MERGED &&
    (operation === 'execute_tool' ||
      kinds.includes('TOOL') ||
      kinds.includes(RETRIEVER) ||
      textAt(attributes, 'traceloop.span.kind') === 'tool' ||
      name === 'ai.toolCall' ||
      (operation === null && tool !== null))
  );
}

/** What a span says that a tool was called with. */
const askedOf = ({ attributes }: Span): unknown =>
  valueAt(
    attributes,
    'gen_ai.tool.call.arguments',
    'tool_arguments',
    'gcp.vertex.agent.tool_call_args',
    'ai.toolCall.args',
    'ai.toolCall.input',
    'mlflow.spanInputs',
    'traceloop.entity.input',
    'input.value',
    'tool.parameters',
    'input',
  );

/** What a span says that a tool gave. */
function givenBy({ attributes, events }: Span): unknown {
  const given = valueAt(
    attributes,
    'gen_ai.tool.call.result',
    'tool_response',
    'gcp.vertex.agent.tool_response',
    'ai.toolCall.result',
    'mlflow.spanOutputs',
    'traceloop.entity.output',
    'output.value',
    'output',
  );
  const choice = events.find((event) => event.name === 'gen_ai.choice')?.attributes ?? {};
  return given ?? valueAt(choice, 'message', 'content') ?? documentsIn(attributes);
}

/** The documents that OpenInference lists; undefined for none. */
function documentsIn(attributes: Attributes): string | undefined {
  const found = listAt(attributes, 'retrieval.documents').flatMap((one) => {
    const text = textAt(fieldsAt(one, 'document'), 'content');
    return text === null ? [] : [text];
  });
  return found.length === 0 ? undefined : found.join('\n\n');
}

/** The message that brings what a tool gave to the model, where a span holds LangChain's; null where it does not. */
function messageOfTool(span: Span): ParsedMessage | null {
  const value = structured(givenBy(span));
  const message = isRecord(value) && isRecord(value['output']) ? value['output'] : value;
  const [read] = isRecord(message) && 'lc' in message ? parsedMessages([message]) : [];
  return read?.role === 'tool' ? read : null;
}

/** What a tool is called, what it was called with, and what it gave, or why it failed. */
export function toolResult(span: Span): ToolResult {
  const { name, attributes, failed } = span;
  const message = messageOfTool(span);
  const result = message?.text ?? givenBy(span);
  return {
    source:
      textAt(attributes, 'gen_ai.tool.name', 'tool.name', 'ai.toolCall.name') ??
      message?.name ??
      textAt(attributes, 'traceloop.entity.name') ??
      name,
    asked: argumentsText(askedOf(span)),
    text: result === undefined && failed === null ? null : resultWithError(jsonText(result), failed),
  };
}

/** The id of the call that a tool's span answers; null for none. */
export const callOfTool = (span: Span): string | null =>
  textAt(
    span.attributes,
    'gen_ai.tool.call.id',
    'ai.toolCall.id',
    'tool_call.id',
    'tool_call_id',
    'gen_ai.tool.call_id',
  ) ??
  messageOfTool(span)?.answers ??
  null;
