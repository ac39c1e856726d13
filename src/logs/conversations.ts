/**
 * Conversations: lists of messages, or objects that hold one with what is known of it, under the keys in use; requests
 * with their responses, as clients, batches and proxies keep them; rows with a prompt and a completion.
 */
import { answerIn, FURTHER, type Answer } from '../chat/answers.ts';
import { asText, fieldsAt, structured, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { measuresIn } from '../chat/measures.ts';
import { chatOnly, parsedMessages, questionOf, systemOf, withToolNames, type ParsedMessage } from '../chat/messages.ts';
import { spentIn } from '../chat/usage.ts';
import { isRecord } from '../shared/guard.ts';
import type { RecordedEpisode, RecordedEvent, RecordedMeasures, RecordedMessage, Survey } from './episode.ts';
import { pairOf } from './langSmith.ts';
import { soleSpeaker } from './promptLabels.ts';
import { firstScore, returnOf } from './scores.ts';
import { measuredOf, timeOf } from './steps.ts';

/** Messages of one conversation. */
export const MOST_MESSAGES = 20_000;
export const BEYOND = `messages beyond the first ${MOST_MESSAGES.toLocaleString('en')} of a conversation`;
const MESSAGES = [
  'messages',
  'conversations',
  'conversation',
  'chat_history',
  'history',
  'trajectory',
  'traj',
  'turns',
  'dialogue',
  'dialog',
  'contents',
  'chat',
  'chosen',
] as const;
const ASKED = ['input', 'prompt', 'question', 'instruction', 'query'] as const;
const ANSWERED = ['completion', 'response', 'responses', 'output', 'generated_text', 'prediction', 'answer'] as const;

/** What a conversation says. */
interface Conversation {
  readonly entries: readonly unknown[];
  readonly answer: readonly ParsedMessage[];
  /** Answers beside the first one. */
  readonly further: number;
  /** Another key with messages of its own, which are not read. */
  readonly second?: { readonly key: string; readonly messages: number } | undefined;
}
const NONE: Conversation = { entries: [], answer: [], further: 0 };

/** Whether a value is a conversation: a list of messages, or an object with one. */
export function isConversation(value: unknown): boolean {
  const { entries, answer } = conversationIn(value);
  return answer.length > 0 || parsedMessages(entries).length > 0;
}

/** The messages of a conversation; of a request with its response, those of both. */
function conversationIn(value: unknown): Conversation {
  if (Array.isArray(value)) {
    return listed(value);
  }
  if (!isRecord(value)) {
    return NONE;
  }
  const [request, response] = [bodyOf(value, ['request', 'req', 'body']), bodyOf(value, ['response', 'res', 'reply'])];
  const asked = isRecord(request) ? request : value;
  const own = listIn(asked);
  if (own !== null) {
    const system = systemOf(valueAt(asked, 'system', 'systemInstruction', 'system_instruction', 'instructions'));
    const { said, further } = response === undefined ? answerBeside(asked, own.list) : answerIn(response);
    return { entries: [...system, ...own.list], answer: said, further, second: own.second };
  }
  if (response !== undefined || isAnswer(value)) {
    const { said, further } = answerIn(response ?? value);
    const prompt = isRecord(request) ? valueAt(request, ...ASKED) : undefined;
    return said.length === 0 ? NONE : { entries: askedWith(prompt), answer: said, further };
  }
  return rowIn(value);
}

const listed = (list: readonly unknown[]): Conversation => ({ ...NONE, entries: list.map(pairOf) });

interface HeldList {
  readonly list: readonly unknown[];
  readonly second: Conversation['second'];
}

/** The list of messages that an object holds, as a list or as JSON; null for none. */
function listIn(fields: Fields): HeldList | null {
  const held = [...MESSAGES, 'rejected', 'input', 'prompt'].flatMap((key) => {
    const value = structured(fields[key]);
    const list = Array.isArray(value) ? value.map(pairOf) : [];
    const messages = parsedMessages(list).length;
    return messages > 0 ? [{ key, list, messages }] : [];
  });
  const [first, second] = held;
  return first === undefined ? null : { list: first.list, second };
}

/** The body of a request or of a response: itself, below `body`, or as JSON in a text. */
function bodyOf(value: Fields, keys: readonly string[]): unknown {
  const given = structured(valueAt(value, ...keys));
  return isRecord(given) && 'body' in given ? structured(given['body']) : given;
}

/** What follows a list of messages in the same object: a completion, or answers of a server. */
function answerBeside(fields: Fields, messages: readonly unknown[]): Answer {
  const last = parsedMessages(messages).at(-1);
  const answer = answerOfRow(fields);
  // The answer may be kept as the last of the messages too.
  return last?.role === 'assistant' && answer.said.every(({ text }) => text === last.text || text === '')
    ? { said: [], further: 0 }
    : answer;
}

/** A completion, one or several, or answers of a server. */
function answerOfRow(fields: Fields): Answer {
  const completion = structured(valueAt(fields, 'completion', 'completions', 'responses', 'output'));
  if (completion === undefined) {
    return isAnswer(fields) ? answerIn(fields) : { said: [], further: 0 };
  }
  const isMessages = Array.isArray(completion) && parsedMessages(completion).length > 0;
  const list: readonly unknown[] = Array.isArray(completion) && !isMessages ? completion : [completion];
  const [first, ...others] = list;
  const { said, further } = answerIn(first);
  return { said, further: further + others.length };
}

/** Whether an object is the answer of a server. */
const isAnswer = ({ choices, candidates, object, output }: Fields): boolean =>
  Array.isArray(choices) || Array.isArray(candidates) || (object === 'response' && Array.isArray(output));

/** A row with a text that was asked and a text that was answered; one of them may be a list of messages. */
function rowIn(value: Fields): Conversation {
  const asked = valueAt(value, ...ASKED);
  const key = ANSWERED.find((one) => one in value && value[one] !== null);
  if (key === undefined || typeof asked !== 'string') {
    return NONE;
  }
  const given = structured(value[key]);
  const isMessages = Array.isArray(given) && parsedMessages(given).length > 0;
  const list: readonly unknown[] = Array.isArray(given) && !isMessages ? given : [given];
  const [first, ...others] = list;
  // A question with its right answer is an item of a data set, and nobody said it.
  if (key === 'answer' || (typeof first !== 'string' && !isMessages && !isRecord(first))) {
    return NONE;
  }
  const { said } = answerIn(first);
  return said.length === 0 ? NONE : { entries: askedWith(asked), answer: said, further: others.length };
}

const askedWith = (asked: unknown): readonly unknown[] =>
  asked === undefined ? [] : [{ role: 'user', content: asked }];

const isNone = (entry: unknown): boolean => parsedMessages([entry]).length === 0;

/**
 * The episode of a conversation.
 * @param id where it has none of its own
 * @returns null where no model says anything
 */
export function conversationEpisode(value: unknown, id: string, survey: Survey): RecordedEpisode | null {
  const { entries: found, answer, further, second } = conversationIn(value);
  survey.leaveOut(BEYOND, found.length - MOST_MESSAGES);
  survey.leaveOut(`messages under a second key of their conversation (${second?.key ?? ''})`, second?.messages ?? 0);
  survey.leaveOut(FURTHER, further);
  const entries = found.slice(0, MOST_MESSAGES);
  survey.leaveOut('entries of conversations that are no messages', entries.filter(isNone).length);
  const messages = withToolNames(asGroup([...parsedMessages(entries), ...answer]));
  const fields = isRecord(value) ? value : {};
  if (!messages.some(({ role }) => role === 'assistant')) {
    return null;
  }
  return {
    id: idOf(fields) ?? id,
    question: questionOf(messages),
    answer: answerKnown(fields),
    return: scoreOf(fields),
    entries: entriesOf(messages, aboutCall(fields), survey),
  };
}

function idOf(fields: Fields): string | null {
  const id = valueAt(
    fields,
    'id',
    'uid',
    'custom_id',
    'conversation_id',
    'session_id',
    'thread_id',
    'instance_id',
    'task_id',
    'sample_id',
    'question_id',
  );
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
}

const answerKnown = (fields: Fields): string =>
  asText(
    valueAt(fields, 'target', 'ideal', 'ground_truth', 'gold', 'reference', 'expected', 'gts', 'answer') ??
      valueAt(fieldsAt(fields, 'reward_model'), 'ground_truth') ??
      valueAt(fieldsAt(fields, 'info'), 'answer'),
  );

/** The score of an episode, under the keys of trainers, benchmarks and graders. */
function scoreOf(fields: Fields): number | null {
  const places = [fields, fieldsAt(fields, 'reward_info'), fieldsAt(fields, 'info'), fieldsAt(fields, 'metrics')];
  for (const place of places) {
    const score = returnOf(
      valueAt(place, 'return', 'reward', 'score', 'success', 'is_correct', 'correct', 'passed', 'resolved'),
    );
    if (score !== null) {
      return score;
    }
  }
  return firstScore(fields['scores']) ?? firstScore(fields['rewards']) ?? firstScore(fields['labels']);
}

/**
 * Messages of a group chat as AutoGen 0.2 keeps it: everybody has a name, and the role says only whose copy it is. Who
 * speaks first is the person; the others are agents.
 */
function asGroup(messages: readonly ParsedMessage[]): readonly ParsedMessage[] {
  const spoken = messages.filter(({ role }) => role === 'user' || role === 'assistant');
  const [first] = spoken;
  const names = new Set(spoken.map(({ name }) => name));
  const isGroup =
    first !== undefined &&
    names.size > 1 &&
    !names.has(null) &&
    spoken.every(({ role, name }) => role === 'user' || name === first.name);
  return isGroup
    ? messages.map((message) =>
        message.role === 'user' || message.role === 'assistant'
          ? { ...message, role: message.name === first.name ? 'user' : 'assistant' }
          : message,
      )
    : messages;
}

/** What is known of the one call that a request with its response is. */
interface AboutCall {
  readonly model: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly measured: RecordedMeasures;
}

function aboutCall(fields: Fields): AboutCall {
  const bodies = [
    bodyOf(fields, ['response', 'res', 'reply']),
    bodyOf(fields, ['request', 'req', 'body']),
    fields,
  ].filter(isRecord);
  const usage = bodies.map((body) => body['usage'] ?? body['usageMetadata']).find(isRecord) ?? {};
  return {
    model:
      bodies.map((body) => textAt(body, 'model', 'model_name', 'modelVersion')).find((one) => one !== null) ?? null,
    ...spentIn(usage),
    measured: measuredOf(
      {
        start: timeOf(bodies.map((body) => valueAt(body, ...BEGUN)).find((one) => one !== undefined)),
        end: timeOf(bodies.map((body) => valueAt(body, ...ENDED)).find((one) => one !== undefined)),
      },
      measuresIn(...bodies, usage),
    ),
  };
}
const BEGUN = ['start_time', 'startTime', 'started_at', 'timestamp', 'created_at', 'created'] as const;
const ENDED = ['end_time', 'endTime', 'ended_at', 'completed_at'] as const;

function* entriesOf(
  messages: readonly ParsedMessage[],
  { model, promptTokens, completionTokens, measured }: AboutCall,
  survey: Survey,
): Generator<RecordedMessage | RecordedEvent> {
  const chat = messages.map(chatOnly);
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const unnamed = soleSpeaker(messages);
  let begun = false;
  for (const [at, { role, name, text, finish }] of messages.entries()) {
    if (role === 'assistant') {
      const speaker = name === null ? survey.speaker(unnamed.name, unnamed.by) : survey.speaker(name, 'name');
      const usage =
        at === last ? { promptTokens, completionTokens, measured } : { promptTokens: 0, completionTokens: 0 };
      yield { kind: 'message', speaker, context: { list: chat, length: at }, text, model, ...usage, finish };
      begun = true;
    } else if (begun && role !== 'system') {
      yield { kind: 'event', source: role === 'user' ? (name ?? 'user') : (name ?? 'tool'), text };
    }
  }
}
