/**
 * Entries of message lists that are not chat messages: items of OpenAI's responses, whose tool calls and results are
 * items of their own, and AutoGen's messages and events (`autogen_agentchat.messages`, `autogen_core.models`).
 */
import { isRecord } from '../shared/guard.ts';

/** Events of AutoGen that are no messages: questions to a person, memory, and pieces of what a later message says. */
const NO_MESSAGES: readonly unknown[] = [
  'UserInputRequestedEvent',
  'MemoryQueryEvent',
  'ModelClientStreamingChunkEvent',
];
const AUTOGEN_RESULTS: readonly unknown[] = ['ToolCallExecutionEvent', 'FunctionExecutionResultMessage'];

/** The messages that an entry of a list is, most of them as they are; none for what is no message. */
export function messagesOf(entry: unknown): readonly unknown[] {
  if (!isRecord(entry)) {
    return [];
  }
  const { type, content } = entry;
  if (type === 'function_call') {
    const call = { id: entry['call_id'], function: { name: entry['name'], arguments: entry['arguments'] } };
    return [{ role: 'assistant', content: '', tool_calls: [call] }];
  }
  if (type === 'function_call_output') {
    return [{ role: 'tool', content: entry['output'], tool_call_id: entry['call_id'] }];
  }
  if (NO_MESSAGES.includes(type)) {
    return [];
  }
  if (!Array.isArray(content)) {
    return [entry];
  }
  if (AUTOGEN_RESULTS.includes(type)) {
    return content
      .filter(isRecord)
      .map((one) => ({ role: 'tool', name: one['name'], content: one['content'], tool_call_id: one['call_id'] }));
  }
  const isCalls = content.length > 0 && content.every((one) => isRecord(one) && 'arguments' in one && !('type' in one));
  return isCalls ? [{ ...entry, role: 'assistant', content: entry['thought'] ?? '', tool_calls: content }] : [entry];
}
