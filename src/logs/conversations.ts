/**
 * Reads conversations in three forms: lists of messages, or objects that hold such a list and its
 * metadata; requests with their responses, as clients, batches and proxies keep them; rows with a
 * prompt and a completion.
 */

import { readModelAnswer, FURTHER_ANSWERS, type Answer } from '../chat/answers.ts';
import { asText, fieldsAt, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { readMeasures } from '../chat/measures.ts';
import {
  toChatMessage,
  parseMessages,
  plainMessage,
  findQuestion,
  parseInstructions,
  withToolNames,
  type ParsedMessage,
} from '../chat/messages.ts';
import { parseJsonOrPython } from '../chat/pythonLiteral.ts';
import { readSpentTokens } from '../chat/usage.ts';
import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import { readResponse, readRecordedBody, hasFailed, REQUESTS, RESPONSES } from './bodies.ts';
import { readTableRows } from './columns.ts';
import {
  ownContext,
  type RecordedEpisode,
  type RecordedEvent,
  type RecordedMeasures,
  type RecordedMessage,
  type Survey,
} from './episode.ts';
import { ANSWERED, ASKED, MEANWHILE, MESSAGES } from './keys.ts';
import { unpackPair } from './langSmith.ts';
import { soleSpeaker } from './promptLabels.ts';
import { answersIn, askedIn, firstAnswer, isAnswer, isNumberOrBoolean } from './rows.ts';
import { firstScore, readReturn } from './scores.ts';
import { measureCall, readTime } from './steps.ts';
import { FAILED } from './traces.ts';

/** The most messages that are read of one conversation. */
export const MOST_MESSAGES = 20_000;
export const BEYOND_MESSAGES = `messages beyond the first ${MOST_MESSAGES.toLocaleString('en')} of a conversation`;
/** Keys whose lists may hold pairs of a question and its answer. */
const PAIRED: ReadonlySet<string> = new Set([
  'messages',
  'conversations',
  'conversation',
  'chat_history',
  'history',
  'turns',
  'dialogue',
  'dialog',
  'chat',
  'chat_messages',
  'internal',
]);
/** Keys of an answer in an object that also holds messages. */
const ANSWERED_BESIDE = ['completion', 'completions', 'responses', 'output', 'outputs', 'sampled'] as const;

interface Conversation {
  readonly entries: readonly unknown[];
  readonly answer: readonly ParsedMessage[];
  /** Answers beside the first one. */
  readonly further: number;
  /** Another key with messages of its own, which are not read. */
  readonly second?: { readonly key: string; readonly messages: number } | undefined;
}
const NONE: Conversation = { entries: [], answer: [], further: 0 };

/** Returns true if a value is or holds, at any supported depth, a list of messages. */
export const isConversation = (value: unknown): boolean => holderIn(value) !== null;

/** Returns true if an object has messages under one of the known keys. */
export const holdsMessages = (fields: Fields): boolean => listIn(fields) !== null;

/** Returns true if a value itself holds messages or an answer, ignoring inner objects. */
export const holdsConversation = (value: unknown): boolean => {
  const { entries, answer } = conversationIn(value);
  return answer.length > 0 || parseMessages(entries).length > 0;
};

/** The most rewards that are named in the reason for leaving them out. */
const MOST_NAMED = 6;
/** The depth of inner objects that may hold messages: `{data: {messages}}`, JSON in a column. */
const MOST_WITHIN = 2;

/**
 * Returns the object that holds the messages: the value, or an inner object merged with the fields
 * around it. Returns null if there is none.
 */
function holderIn(value: unknown, depth = 0): unknown {
  if (holdsConversation(value)) {
    return value;
  }
  if (!isRecord(value) || depth >= MOST_WITHIN) {
    return null;
  }
  for (const one of Object.values(value)) {
    const inner = parseJsonOrPython(one);
    const holder = isRecord(inner) ? holderIn(inner, depth + 1) : null;
    if (isRecord(holder)) {
      return { ...value, ...holder };
    }
  }
  return null;
}

/** Returns the messages of a conversation, or those of a request and its response. */
function conversationIn(value: unknown): Conversation {
  if (Array.isArray(value)) {
    return listed(value);
  }
  if (!isRecord(value)) {
    return NONE;
  }
  const [request, response] = [readRecordedBody(value, REQUESTS), readResponse(value)];
  const requested = isRecord(request) ? listIn(request) : null;
  const own = requested ?? listIn(value);
  const asked = isRecord(request) && (own === null || requested !== null) ? request : value;
  const system = parseInstructions(systemBeside(asked));
  if (own !== null) {
    const { said, further } = response === undefined ? answerBeside(asked, own.list) : readModelAnswer(response);
    const now = own.isTurns ? askedWith(askedIn(asked)) : 'chat_history' in asked ? askedNow(asked) : [];
    const before = [...newSystem(system, own.list), ...askedBefore(asked, own)];
    const entries = [...before, ...own.list, ...now];
    return { entries, answer: said, further, second: own.second ?? promptBeside(asked, entries) };
  }
  if (response !== undefined || isAnswer(value)) {
    const { said, further } = readModelAnswer(response ?? value);
    const prompt = isRecord(request) ? valueAt(request, ...ASKED) : undefined;
    const now = isRecord(request) && prompt === undefined ? askedNow(request) : askedWith(prompt);
    return said.length === 0 ? NONE : { entries: [...system, ...now], answer: said, further };
  }
  return rowIn(value);
}

/** Returns the system prompt under its own key. Who&When has one for each agent. */
function systemBeside(asked: Fields): unknown {
  const prompt = asked['system_prompt'];
  return (
    valueAt(asked, 'system', 'systemInstruction', 'system_instruction', 'instructions', 'preamble') ??
    (isRecord(prompt) ? textAt(prompt, 'system_prompt') : prompt)
  );
}

/** Returns the system prompt, unless the list of messages begins with it. */
function newSystem(system: readonly ParsedMessage[], list: readonly unknown[]): readonly ParsedMessage[] {
  const [first] = parseMessages(list.slice(0, 1));
  return system.filter(({ text }) => first?.role !== 'system' || first.text !== text);
}

/** Returns a prompt under its own key that no message repeats. */
function promptBeside({ prompt }: Fields, entries: readonly unknown[]): Conversation['second'] {
  return typeof prompt !== 'string' ||
    prompt === '' ||
    parseMessages(entries).some(({ text }) => contains(text, prompt))
    ? undefined
    : { key: 'prompt', messages: 1 };
}

/** Returns the task under its own key, unless a user message repeats it. */
function askedBefore(asked: Fields, { key, list, isTurns }: HeldList): readonly unknown[] {
  const text = MEANWHILE.includes(key) && !isTurns ? (askedIn(asked) ?? '') : '';
  const isSaid = text === '' || parseMessages(list).some((one) => one.role === 'user' && contains(one.text, text));
  return isSaid ? [] : askedWith(text);
}

/** Returns the current turn of a Cohere request: tool results, or the user's message. */
function askedNow(request: Fields): readonly unknown[] {
  const { message, tool_results: results } = request;
  return [
    ...(Array.isArray(results) ? [{ role: 'tool', tool_results: results }] : []),
    ...(typeof message === 'string' && message !== '' ? askedWith(message) : []),
  ];
}

const listed = (list: readonly unknown[]): Conversation => ({ ...NONE, entries: list.map(unpackPair) });

interface HeldList {
  readonly key: string;
  readonly list: readonly unknown[];
  /** True if the list holds earlier turns only. The current question is then under another key. */
  readonly isTurns: boolean;
  readonly second: Conversation['second'];
}

/**
 * Returns the messages of `[["Hi", "Hello"], ...]`, pairs of a user's text and its answer. Returns
 * none for any other value.
 */
function turnsIn(value: unknown): readonly unknown[] {
  const isTurns =
    Array.isArray(value) &&
    value.every(
      (one) => Array.isArray(one) && one.length === 2 && unpackPair(one) === one && one.every((text) => isTurn(text)),
    );
  return isTurns
    ? value.flatMap(([asked, said]: readonly unknown[]) => [
        ...(asked === null ? [] : [{ role: 'user', content: asked }]),
        ...(said === null ? [] : [{ role: 'assistant', content: said }]),
      ])
    : [];
}

const isTurn = (text: unknown): boolean => typeof text === 'string' || text === null;

/** Returns the entries of a list item. OpenHands keeps an event together with its result. */
const readItemEntries = (item: unknown): readonly unknown[] =>
  Array.isArray(item) && isRecord(item[0]) && 'source' in item[0]
    ? item.filter((one) => isRecord(one) && Object.keys(one).length > 0)
    : [unpackPair(item)];

/** Returns the list of messages that an object holds, as a list or as JSON, or null. */
function listIn(fields: Fields): HeldList | null {
  const held = MESSAGES.flatMap((key) => {
    const value = parseJsonOrPython(fields[key]);
    // Data sets may keep the messages of a conversation by columns.
    const rows = isRecord(value) ? (readTableRows(value) ?? []) : value;
    const turns = PAIRED.has(key) ? turnsIn(rows) : [];
    const list = turns.length > 0 ? turns : Array.isArray(rows) ? rows.flatMap(readItemEntries) : [];
    const messages = parseMessages(list).length;
    return messages > 0 ? [{ key, list, messages, isTurns: turns.length > 0 }] : [];
  });
  const [first, second] = held;
  return first === undefined ? null : { ...first, second };
}

/** Returns the answer that follows a list of messages in the same object. */
function answerBeside(fields: Fields, messages: readonly unknown[]): Answer {
  if (messages.some((one) => isRecord(one) && one['is_final_answer'] === true)) {
    return { said: [], further: 0 };
  }
  const last = parseMessages(messages).at(-1);
  const answer = readRowAnswer(fields);
  // The last message may repeat the answer.
  return last?.role === 'assistant' && answer.said.every(({ text }) => text === last.text || text === '')
    ? { said: [], further: 0 }
    : answer;
}

/** Returns a completion, several completions, or the answers of a server. */
function readRowAnswer(fields: Fields): Answer {
  // Cohere keeps the answer and the earlier messages under two keys.
  const keys = 'chat_history' in fields ? [...ANSWERED_BESIDE, 'text'] : ANSWERED_BESIDE;
  return firstAnswer(keys.map((key) => fields[key])) ?? readModelAnswer(isAnswer(fields) ? fields : undefined);
}

/** Reads a row with a question and an answer. Either may be a list of messages. */
function rowIn(value: Fields): Conversation {
  const asked = askedIn(value);
  // A question with its reference answer is an item of a data set, not a message. A number is no
  // answer either.
  const key = ANSWERED.find((one) => !isNumberOrBoolean(value[one]) && answersIn(value[one]).said.length > 0);
  if (key === undefined || asked === undefined) {
    return NONE;
  }
  const { said, further } = answersIn(value[key]);
  const entries = [...parseInstructions(systemBeside(value)), ...askedWith(asked)];
  const second =
    key === 'chosen' && typeof value['rejected'] === 'string' ? { key: 'rejected', messages: 1 } : undefined;
  return { entries, answer: said, further, second };
}

const askedWith = (asked: unknown): readonly unknown[] =>
  asked === undefined ? [] : [{ role: 'user', content: asked }];

const isNone = (entry: unknown): boolean => parseMessages([entry]).length === 0;

/**
 * Returns the episode of a conversation, or null if no model says anything in it.
 * @param id used if the conversation has no id of its own
 */
export function conversationEpisode(given: unknown, id: string, survey: Survey): RecordedEpisode | null {
  const value = holderIn(given) ?? given;
  const { entries: found, answer, further, second } = conversationIn(value);
  survey.leaveOut(BEYOND_MESSAGES, found.length - MOST_MESSAGES);
  survey.leaveOut(`messages under a second key of their conversation (${second?.key ?? ''})`, second?.messages ?? 0);
  survey.leaveOut(FURTHER_ANSWERS, further);
  const entries = found.slice(0, MOST_MESSAGES);
  survey.leaveOut('entries of conversations that are not messages', entries.filter(isNone).length);
  const fields = isRecord(value) ? value : {};
  const asked = parseMessages(entries);
  const who = textAt(fields, 'agent', 'agent_name', 'agent_id');
  const named = answer.map((one) => (one.role === 'assistant' && one.name === null ? { ...one, name: who } : one));
  const messages = withToolNames(asGroup([...asked, ...named], agentsIn(fields)));
  if (answer.length === 0 && hasFailed(fields)) {
    survey.leaveOut(FAILED);
  }
  if (!messages.some(({ role }) => role === 'assistant')) {
    return null;
  }
  const score = scoreOf(fields);
  const rewards = score === null ? rewardsIn(fields) : [];
  survey.leaveOut(
    `rewards of several functions, whose weights the log does not say (${rewards.slice(0, MOST_NAMED).join(', ')})`,
    rewards.length,
  );
  return {
    id: idOf(fields) ?? id,
    question: findQuestion(messages),
    answer: answerKnown(fields),
    return: score,
    entries: entriesOf(
      messages,
      { ...aboutCall(fields), mark: markIn(fields, entries, messages, survey) },
      survey,
      promptsIn(fields),
    ),
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

/** Returns the score of an episode, from the keys that trainers, benchmarks and graders use. */
function scoreOf(fields: Fields): number | null {
  const places = [fields, fieldsAt(fields, 'reward_info'), fieldsAt(fields, 'info'), fieldsAt(fields, 'metrics')];
  for (const place of places) {
    const score = readReturn(
      valueAt(place, 'return', 'reward', 'score', 'success', 'is_correct', 'correct', 'passed', 'resolved'),
    );
    if (score !== null) {
      return score;
    }
  }
  const [only, ...others] = rewardsIn(fields);
  return (
    firstScore(fields['scores']) ??
    firstScore(fields['rewards']) ??
    firstScore(fields['labels']) ??
    (only === undefined || others.length > 0 ? null : readReturn(fields[only]))
  );
}

/** Returns the keys of single reward functions, as in TRL: `accuracy_reward`. */
const rewardsIn = (fields: Fields): readonly string[] =>
  Object.keys(fields).filter((key) => /(?:^|_)reward(?:_func)?$/u.test(key) && readReturn(fields[key]) !== null);

/**
 * Assigns roles to the messages of a group chat of AutoGen 0.2. There, every speaker has a name,
 * and the role says only whose copy of the chat it is. The first speaker is the person, and the
 * others are agents.
 * @param agents names that the log lists as agents; if there are any, all other speakers are users
 */
function asGroup(messages: readonly ParsedMessage[], agents: ReadonlySet<string>): readonly ParsedMessage[] {
  const spoken = messages.filter(({ role }) => role === 'user' || role === 'assistant');
  const [first] = spoken;
  const names = new Set(spoken.map(({ name }) => name));
  // A speaker that calls a tool has the role of an assistant in every copy.
  const isGroup =
    first !== undefined &&
    names.size > 1 &&
    !names.has(null) &&
    (agents.size > 0 ||
      spoken.every(({ role, name, calls }) => role === 'user' || name === first.name || calls.size > 0));
  const isAgent = (name: string | null): boolean => (agents.size > 0 ? agents.has(name ?? '') : name !== first?.name);
  return isGroup
    ? messages.map((message) =>
        message.role === 'user' || message.role === 'assistant'
          ? { ...message, role: isAgent(message.name) ? 'assistant' : 'user' }
          : message,
      )
    : messages;
}

/** Returns the prompts of agents by their names, as Who&When keeps them beside the messages. */
function promptsIn(fields: Fields): ReadonlyMap<string, string> {
  const prompts = fieldsAt(fields, 'system_prompt');
  return new Map(Object.entries(prompts).flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])));
}

/** Returns the names that a log lists as agents. */
function agentsIn(fields: Fields): ReadonlySet<string> {
  const mistaken = textAt(fields, 'mistake_agent');
  return new Set([...promptsIn(fields).keys(), ...(mistaken === null ? [] : [mistaken])]);
}

/** A message that a person marked. Who&When records the agent and the step of a mistake. */
interface Mark {
  readonly message: ParsedMessage;
  readonly note: string;
}

const NO_MARK = 'marks of mistakes whose message is missing';

/**
 * Finds the message that a person marked.
 * @param entries in the numbering that the mark uses
 */
function markIn(
  fields: Fields,
  entries: readonly unknown[],
  messages: readonly ParsedMessage[],
  survey: Survey,
): Mark | null {
  const [agent, given] = [textAt(fields, 'mistake_agent'), valueAt(fields, 'mistake_step')];
  if (agent === null && given === undefined) {
    return null;
  }
  const step = Number(given);
  const isPlace = Number.isSafeInteger(step) && step >= 0 && step < entries.length;
  const message = isPlace ? messages[parseMessages(entries.slice(0, step)).length] : undefined;
  if (message?.role !== 'assistant') {
    survey.leaveOut(NO_MARK);
    return null;
  }
  return {
    message,
    note: [agent ?? message.name, textAt(fields, 'mistake_reason')].filter((one) => one !== null).join(': '),
  };
}

/** Metadata of a single call, from its request and its response. */
interface AboutCall {
  readonly model: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly measured: RecordedMeasures;
}

function aboutCall(fields: Fields): AboutCall {
  const bodies = [readRecordedBody(fields, RESPONSES), readRecordedBody(fields, REQUESTS), fields].filter(isRecord);
  const usage =
    bodies.map((body) => body['usage'] ?? body['usageMetadata'] ?? fieldsAt(body, 'meta')['tokens']).find(isRecord) ??
    {};
  return {
    model:
      bodies
        .map((body) => textAt(body, 'model', 'model_name', 'modelVersion', 'modelId'))
        .find((one) => one !== null) ?? null,
    ...readSpentTokens(usage),
    measured: measureCall(
      {
        start: readTime(bodies.map((body) => valueAt(body, ...BEGUN)).find((one) => one !== undefined)),
        end: readTime(bodies.map((body) => valueAt(body, ...ENDED)).find((one) => one !== undefined)),
      },
      readMeasures(...bodies, usage),
    ),
  };
}

/** Returns the measures of a message: its own, or else those of the single call. */
function measuredAt({ about }: ParsedMessage, call: AboutCall | null, model: string | null): AboutCall {
  const own = about === null ? NOTHING_SAID : aboutMessage(about);
  const given = call ?? NOTHING_SAID;
  return {
    model: own.model ?? model,
    promptTokens: own.promptTokens > 0 ? own.promptTokens : given.promptTokens,
    completionTokens: own.completionTokens > 0 ? own.completionTokens : given.completionTokens,
    measured: {
      start: own.measured.start ?? given.measured.start,
      seconds: own.measured.seconds ?? given.measured.seconds,
      firstTokenSeconds: own.measured.firstTokenSeconds ?? given.measured.firstTokenSeconds,
      cost: own.measured.cost ?? given.measured.cost,
      temperature: own.measured.temperature ?? given.measured.temperature,
    },
  };
}

const NOTHING_SAID: AboutCall = {
  model: null,
  promptTokens: 0,
  completionTokens: 0,
  measured: { start: null, seconds: null, firstTokenSeconds: null, cost: null, temperature: null },
};

/** Returns a call's metadata from its message, as LangChain, AutoGen, tau2 and others keep it. */
function aboutMessage(fields: Fields): AboutCall {
  const metadata = fieldsAt(fields, 'response_metadata');
  const response = fieldsAt(fieldsAt(fields, 'extra'), 'response');
  const usage =
    [
      fields['usage_metadata'],
      fields['models_usage'],
      fields['usage'],
      response['usage'],
      metadata['token_usage'],
      metadata['usage'],
    ].find(isRecord) ?? {};
  return {
    model:
      textAt(fields, 'model', 'model_name') ?? textAt(metadata, 'model_name', 'model') ?? textAt(response, 'model'),
    ...readSpentTokens(usage),
    measured: measureCall(
      { start: readTime(valueAt(fields, ...BEGUN)), end: readTime(valueAt(fields, ...ENDED)) },
      readMeasures(fields),
    ),
  };
}
const BEGUN = ['start_time', 'startTime', 'started_at', 'timestamp', 'created_at', 'created'] as const;
const ENDED = ['end_time', 'endTime', 'ended_at', 'completed_at'] as const;

/**
 * Yields the messages and events of a conversation.
 * @param prompts system prompts by agent that are not among the messages; each agent's context
 *   begins with its own
 */
function* entriesOf(
  messages: readonly ParsedMessage[],
  { mark, ...about }: AboutCall & { readonly mark: Mark | null },
  survey: Survey,
  prompts: ReadonlyMap<string, string>,
): Generator<RecordedMessage | RecordedEvent> {
  const chat = messages.map(toChatMessage);
  const chats = new Map(
    [...prompts].map(([name, text]) => [name, [toChatMessage(plainMessage('system', text)), ...chat]] as const),
  );
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const unnamed = soleSpeaker(messages);
  let begun = false;
  for (const [at, message] of messages.entries()) {
    const { role, name, text, finish } = message;
    if (role === 'assistant') {
      const speaker = name === null ? survey.speaker(unnamed.name, unnamed.by) : survey.speaker(name, 'name');
      const own = chats.get(name ?? '');
      const before = own === undefined ? { list: chat, length: at } : { list: own, length: at + 1 };
      const context = message.asked === null ? before : ownContext(message.asked);
      const mistake = mark !== null && mark.message === message ? { mark: { name: 'mistake', note: mark.note } } : {};
      yield {
        kind: 'message',
        speaker,
        context,
        text,
        ...measuredAt(message, at === last ? about : null, about.model),
        finish,
        ...mistake,
      };
      begun = true;
    } else if (begun && role !== 'system') {
      yield { kind: 'event', source: role === 'user' ? (name ?? 'user') : (name ?? 'tool'), text };
    }
  }
}
