/** Reads spans that are calls of tools: the name, the arguments and the result. */

import { resultWithError } from '../chat/content.ts';
import { fieldsAt, parseStructured, textAt, valueAt } from '../chat/fields.ts';
import { parseMessages, type ParsedMessage } from '../chat/messages.ts';
import { isRecord } from '../shared/guard.ts';
import { jsonText, buildList, type Attributes, type Span } from './spans.ts';
import { argumentsText, type ToolResult } from './steps.ts';

/** Returns the span type of MLflow and Langfuse, in capitals, or null. */
export const spanType = (attributes: Attributes): string | null => {
  const type = jsonText(attributes['mlflow.spanType']) ?? attributes['langfuse.observation.type'];
  return typeof type === 'string' ? type.toUpperCase() : null;
};

/** The tool name that Google's ADK gives to a second copy of several tools' results. */
const MERGED = '(merged tools)';
const RETRIEVER = 'RETRIEVER';

/** Returns true if a span is a call of a tool. A search for documents counts as one. */
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

/** Returns the arguments of a tool from its span. */
const readToolArguments = ({ attributes }: Span): unknown =>
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

/** Returns the result of a tool from its span. */
function readToolOutput({ attributes, events }: Span): unknown {
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

/** Returns the documents that OpenInference lists as one text, or undefined. */
function documentsIn(attributes: Attributes): string | undefined {
  const found = buildList(attributes, 'retrieval.documents').flatMap((one) => {
    const text = textAt(fieldsAt(one, 'document'), 'content');
    return text === null ? [] : [text];
  });
  return found.length === 0 ? undefined : found.join('\n\n');
}

/** Returns LangChain's message with a tool's result, if the span holds one, or null. */
function readToolMessage(span: Span): ParsedMessage | null {
  const value = parseStructured(readToolOutput(span));
  const message = isRecord(value) && isRecord(value['output']) ? value['output'] : value;
  const [read] = isRecord(message) && 'lc' in message ? parseMessages([message]) : [];
  return read?.role === 'tool' ? read : null;
}

/** Returns the name, arguments and result of a tool, or the reason for its failure. */
export function toolResult(span: Span): ToolResult {
  const { name, attributes, failed } = span;
  const message = readToolMessage(span);
  const result = message?.text ?? readToolOutput(span);
  return {
    source:
      textAt(attributes, 'gen_ai.tool.name', 'tool.name', 'ai.toolCall.name') ??
      message?.name ??
      textAt(attributes, 'traceloop.entity.name') ??
      name,
    asked: argumentsText(readToolArguments(span)),
    text: result === undefined && failed === null ? null : resultWithError(jsonText(result), failed),
  };
}

/** Returns the id of the call that a tool's span answers, or null. */
export const readToolCallId = (span: Span): string | null =>
  textAt(
    span.attributes,
    'gen_ai.tool.call.id',
    'ai.toolCall.id',
    'tool_call.id',
    'tool_call_id',
    'gen_ai.tool.call_id',
  ) ??
  readToolMessage(span)?.answers ??
  null;
