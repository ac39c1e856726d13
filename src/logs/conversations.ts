/** Conversations: lists of messages, or objects that hold one with what is known of it. */
import { isReturn } from '../shared/credit/returns.ts';
import { isRecord } from '../shared/guard.ts';
import { asText, textAt, valueAt } from '../chat/fields.ts';
import { chatOnly, parsedMessages, questionOf, withToolNames, type ParsedMessage } from '../chat/messages.ts';
import type { RecordedEpisode, RecordedEvent, RecordedMessage, Survey } from './episode.ts';

/** The context of each message has all before it: their number squared is what they cost. */
export const MOST_MESSAGES = 20_000;
export const BEYOND = `messages beyond the first ${MOST_MESSAGES.toLocaleString('en')} of a conversation`;
const MESSAGES = ['messages', 'chat_history', 'conversation'] as const;

/** Whether a value is a conversation: a list of messages, or an object with one. */
export const isConversation = (value: unknown): boolean => messagesIn(value).length > 0;

/** The messages of a conversation; of a request with its response, those of both. */
function messagesIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) {
    return parsedMessages(value).length > 0 ? value : [];
  }
  if (!isRecord(value)) {
    return [];
  }
  const [request, response] = [value['request'] ?? value['body'], value['response']];
  const own = valueAt(isRecord(request) ? request : value, ...MESSAGES);
  const messages: readonly unknown[] = Array.isArray(own) ? own : [];
  const answers: unknown = isRecord(response) ? response['choices'] : null;
  const choices: readonly unknown[] = Array.isArray(answers) ? answers.slice(0, 1) : [];
  return parsedMessages(messages).length > 0 ? [...messages, ...choices] : [];
}

const isNone = (entry: unknown): boolean => parsedMessages([entry]).length === 0;

/** A score as programs write it; null for what is none, or cannot be a return. */
export function returnOf(score: unknown): number | null {
  const number = typeof score === 'boolean' ? Number(score) : score;
  return typeof number === 'number' && isReturn(number) ? number : null;
}

/**
 * The episode of a conversation.
 * @param id where it has none of its own
 * @returns null where no model says anything
 */
export function conversationEpisode(value: unknown, id: string, survey: Survey): RecordedEpisode | null {
  const found = messagesIn(value);
  survey.leaveOut(BEYOND, found.length - MOST_MESSAGES);
  const entries = found.slice(0, MOST_MESSAGES);
  const messages = withToolNames(parsedMessages(entries));
  survey.leaveOut('entries of conversations that are no messages', entries.filter(isNone).length);
  const fields = isRecord(value) ? value : {};
  if (!messages.some(({ role }) => role === 'assistant')) {
    return null;
  }
  return {
    id: textAt(fields, 'id', 'uid', 'custom_id') ?? id,
    question: questionOf(messages),
    answer: asText(valueAt(fields, 'answer', 'target', 'ideal')),
    return: returnOf(valueAt(fields, 'return', 'reward', 'score')),
    entries: entriesOf(messages, textAt(fields, 'model'), survey),
  };
}

function* entriesOf(
  messages: readonly ParsedMessage[],
  model: string | null,
  survey: Survey,
): Generator<RecordedMessage | RecordedEvent> {
  const chat = messages.map(chatOnly);
  let begun = false;
  for (const [at, { role, name, text, finish }] of messages.entries()) {
    if (role === 'assistant') {
      const speaker = survey.speaker(name ?? 'assistant', name === null ? 'only speaker' : 'name');
      const context = chat.slice(0, at);
      yield { kind: 'message', speaker, context, text, model, promptTokens: 0, completionTokens: 0, finish };
      begun = true;
    } else if (begun && role !== 'system') {
      yield { kind: 'event', source: role === 'user' ? 'user' : (name ?? 'tool'), text };
    }
  }
}
