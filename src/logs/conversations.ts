/** Logs of conversations: lists of messages, or objects that hold one with what is known of it. */
import { isReturn } from '../shared/credit/returns.ts';
import { isRecord } from '../shared/guard.ts';
import { asText, chatOnly, parsedMessages, questionOf, textAt, valueAt, withToolNames } from './chat.ts';
import type { SpeakerSource } from '../shared/records/logImport.ts';
import {
  LeftOut,
  type RecordedEpisode,
  type RecordedEvent,
  type RecordedLog,
  type RecordedMessage,
} from './episode.ts';

const MESSAGES = ['messages', 'chat_history', 'conversation'] as const;

/** Whether a value is a conversation: a list of messages, or an object with one. */
export const isConversation = (value: unknown): boolean => messagesIn(value).length > 0;

/** The values of a log that has several conversations in one list; else the value alone. */
export const conversationsIn = (value: unknown): readonly unknown[] =>
  Array.isArray(value) && !isConversation(value) ? value : [value];

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

/** Reads conversations, each an episode. */
export function conversationLog(values: readonly unknown[]): RecordedLog {
  const leftOut = new LeftOut();
  const speakers = new Map<string, SpeakerSource>();
  const episodes = values.flatMap((value, index) => {
    const episode = episodeOf(value, index, speakers);
    if (episode === null) {
      leftOut.add('conversations in which no model says anything');
    }
    return episode ?? [];
  });
  return { format: 'messages of conversations', episodes, speakers, leftOut: leftOut.reasons };
}

function episodeOf(value: unknown, index: number, speakers: Map<string, SpeakerSource>): RecordedEpisode | null {
  const messages = withToolNames(parsedMessages(messagesIn(value)));
  const fields = isRecord(value) ? value : {};
  const model = textAt(fields, 'model');
  const entries: (RecordedMessage | RecordedEvent)[] = [];
  for (const [at, { role, name, text, finish }] of messages.entries()) {
    if (role === 'assistant') {
      const speaker = name ?? 'assistant';
      speakers.set(speaker, name === null ? 'only speaker' : 'name');
      const context = messages.slice(0, at).map(chatOnly);
      entries.push({ kind: 'message', speaker, context, text, model, promptTokens: 0, completionTokens: 0, finish });
    } else if (entries.length > 0 && role !== 'system') {
      entries.push({ kind: 'event', source: role === 'user' ? 'user' : (name ?? 'tool'), text });
    }
  }
  const score = valueAt(fields, 'return', 'reward', 'score');
  const number = typeof score === 'boolean' ? Number(score) : score;
  return entries.length === 0
    ? null
    : {
        id: textAt(fields, 'id', 'uid', 'custom_id') ?? `conversation ${String(index + 1)}`,
        question: questionOf(messages),
        answer: asText(valueAt(fields, 'answer', 'target', 'ideal')),
        return: typeof number === 'number' && isReturn(number) ? number : null,
        entries,
      };
}
