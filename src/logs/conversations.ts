/**
 * Conversations: lists of messages, or objects that hold one with what is known of it, under the keys in use; requests
 * with their responses, as clients, batches and proxies keep them; rows with a prompt and a completion.
 */
import { answerIn, FURTHER, type Answer } from '../chat/answers.ts';
import { asText, fieldsAt, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { measuresIn } from '../chat/measures.ts';
import {
  chatOnly,
  parsedMessages,
  plainMessage,
  questionOf,
  systemOf,
  withToolNames,
  type ParsedMessage,
} from '../chat/messages.ts';
import { opened } from '../chat/pythonLiteral.ts';
import { spentIn } from '../chat/usage.ts';
import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import { answerGiven, bodyOf, hasFailed, REQUESTS, RESPONSES } from './bodies.ts';
import { rowsOf } from './columns.ts';
import {
  ownContext,
  type RecordedEpisode,
  type RecordedEvent,
  type RecordedMeasures,
  type RecordedMessage,
  type Survey,
} from './episode.ts';
import { ANSWERED, ASKED, MEANWHILE, MESSAGES } from './keys.ts';
import { pairOf } from './langSmith.ts';
import { soleSpeaker } from './promptLabels.ts';
import { answersIn, askedIn, firstAnswer, isAnswer, isNumbers } from './rows.ts';
import { firstScore, returnOf } from './scores.ts';
import { measuredOf, timeOf } from './steps.ts';
import { FAILED } from './traces.ts';

/** Messages of one conversation. */
export const MOST_MESSAGES = 20_000;
export const BEYOND = `messages beyond the first ${MOST_MESSAGES.toLocaleString('en')} of a conversation`;
/** Keys of messages that some keep as pairs of a question and its answer. */
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
export const isConversation = (value: unknown): boolean => holderIn(value) !== null;

/** Whether an object has messages under any of their keys. */
export const holdsMessages = (fields: Fields): boolean => listIn(fields) !== null;

/** Whether a value says something itself, whatever it holds. */
export const says = (value: unknown): boolean => {
  const { entries, answer } = conversationIn(value);
  return answer.length > 0 || parsedMessages(entries).length > 0;
};

/** Rewards that are named where they are left out. */
const MOST_NAMED = 6;
/** Objects within objects that may hold the messages: `{data: {messages}}`, or one as JSON in a column. */
const MOST_WITHIN = 2;

/** What holds the messages: the value, or an object within it with all that is known around it; null for none. */
function holderIn(value: unknown, depth = 0): unknown {
  if (says(value)) {
    return value;
  }
  if (!isRecord(value) || depth >= MOST_WITHIN) {
    return null;
  }
  for (const one of Object.values(value)) {
    const inner = opened(one);
    const holder = isRecord(inner) ? holderIn(inner, depth + 1) : null;
    if (isRecord(holder)) {
      return { ...value, ...holder };
    }
  }
  return null;
}

/** The messages of a conversation; of a request with its response, those of both. */
function conversationIn(value: unknown): Conversation {
  if (Array.isArray(value)) {
    return listed(value);
  }
  if (!isRecord(value)) {
    return NONE;
  }
  const [request, response] = [bodyOf(value, REQUESTS), answerGiven(value)];
  const requested = isRecord(request) ? listIn(request) : null;
  const own = requested ?? listIn(value);
  const asked = isRecord(request) && (own === null || requested !== null) ? request : value;
  const system = systemOf(systemBeside(asked));
  if (own !== null) {
    const { said, further } = response === undefined ? answerBeside(asked, own.list) : answerIn(response);
    const now = own.isTurns ? askedWith(askedIn(asked)) : 'chat_history' in asked ? askedNow(asked) : [];
    const before = [...newSystem(system, own.list), ...askedBefore(asked, own)];
    const entries = [...before, ...own.list, ...now];
    return { entries, answer: said, further, second: own.second ?? promptBeside(asked, entries) };
  }
  if (response !== undefined || isAnswer(value)) {
    const { said, further } = answerIn(response ?? value);
    const prompt = isRecord(request) ? valueAt(request, ...ASKED) : undefined;
    const now = isRecord(request) && prompt === undefined ? askedNow(request) : askedWith(prompt);
    return said.length === 0 ? NONE : { entries: [...system, ...now], answer: said, further };
  }
  return rowIn(value);
}

/** The system prompt under its own key. Who&When keeps one for each agent, smolagents an object. */
function systemBeside(asked: Fields): unknown {
  const prompt = asked['system_prompt'];
  return (
    valueAt(asked, 'system', 'systemInstruction', 'system_instruction', 'instructions', 'preamble') ??
    (isRecord(prompt) ? textAt(prompt, 'system_prompt') : prompt)
  );
}

/** The system prompt, unless the list of messages begins with it. */
function newSystem(system: readonly ParsedMessage[], list: readonly unknown[]): readonly ParsedMessage[] {
  const [first] = parsedMessages(list.slice(0, 1));
  return system.filter(({ text }) => first?.role !== 'system' || first.text !== text);
}

/** A prompt under its own key that no message repeats. */
function promptBeside({ prompt }: Fields, entries: readonly unknown[]): Conversation['second'] {
  return typeof prompt !== 'string' ||
    prompt === '' ||
    parsedMessages(entries).some(({ text }) => contains(text, prompt))
    ? undefined
    : { key: 'prompt', messages: 1 };
}

/** The task under its own key, unless a user message repeats it. */
function askedBefore(asked: Fields, { key, list, isTurns }: HeldList): readonly unknown[] {
  const text = MEANWHILE.includes(key) && !isTurns ? (askedIn(asked) ?? '') : '';
  const isSaid = text === '' || parsedMessages(list).some((one) => one.role === 'user' && contains(one.text, text));
  return isSaid ? [] : askedWith(text);
}

/** The current turn of a Cohere request: tool results, or the user's message. */
function askedNow(request: Fields): readonly unknown[] {
  const { message, tool_results: results } = request;
  return [
    ...(Array.isArray(results) ? [{ role: 'tool', tool_results: results }] : []),
    ...(typeof message === 'string' && message !== '' ? askedWith(message) : []),
  ];
}

const listed = (list: readonly unknown[]): Conversation => ({ ...NONE, entries: list.map(pairOf) });

interface HeldList {
  readonly key: string;
  readonly list: readonly unknown[];
  /** Whether the list holds earlier turns only. The current question is then under another key. */
  readonly isTurns: boolean;
  readonly second: Conversation['second'];
}

/** The messages of `[["Hi", "Hello"], ...]`, what a person said with its answer each; none for any other value. */
function turnsIn(value: unknown): readonly unknown[] {
  const isTurns =
    Array.isArray(value) &&
    value.every(
      (one) => Array.isArray(one) && one.length === 2 && pairOf(one) === one && one.every((text) => isTurn(text)),
    );
  return isTurns
    ? value.flatMap(([asked, said]: readonly unknown[]) => [
        ...(asked === null ? [] : [{ role: 'user', content: asked }]),
        ...(said === null ? [] : [{ role: 'assistant', content: said }]),
      ])
    : [];
}

const isTurn = (text: unknown): boolean => typeof text === 'string' || text === null;

/** The entries that an item of a list is: OpenHands keeps an event with what came of it, which may be empty. */
const entriesOfItem = (item: unknown): readonly unknown[] =>
  Array.isArray(item) && isRecord(item[0]) && 'source' in item[0]
    ? item.filter((one) => isRecord(one) && Object.keys(one).length > 0)
    : [pairOf(item)];

/** The list of messages that an object holds, as a list or as JSON; null for none. */
function listIn(fields: Fields): HeldList | null {
  const held = MESSAGES.flatMap((key) => {
    const value = opened(fields[key]);
    // Data sets may keep the messages of a conversation by columns.
    const rows = isRecord(value) ? (rowsOf(value) ?? []) : value;
    const turns = PAIRED.has(key) ? turnsIn(rows) : [];
    const list = turns.length > 0 ? turns : Array.isArray(rows) ? rows.flatMap(entriesOfItem) : [];
    const messages = parsedMessages(list).length;
    return messages > 0 ? [{ key, list, messages, isTurns: turns.length > 0 }] : [];
  });
  const [first, second] = held;
  return first === undefined ? null : { ...first, second };
}

/** What follows a list of messages in the same object: a completion, or answers of a server. */
function answerBeside(fields: Fields, messages: readonly unknown[]): Answer {
  if (messages.some((one) => isRecord(one) && one['is_final_answer'] === true)) {
    return { said: [], further: 0 };
  }
  const last = parsedMessages(messages).at(-1);
  const answer = answerOfRow(fields);
  // The answer may be kept as the last of the messages too.
  return last?.role === 'assistant' && answer.said.every(({ text }) => text === last.text || text === '')
    ? { said: [], further: 0 }
    : answer;
}

/** A completion, one or several, or answers of a server. */
function answerOfRow(fields: Fields): Answer {
  // Cohere keeps the answer and the earlier messages under two keys.
  const keys = 'chat_history' in fields ? [...ANSWERED_BESIDE, 'text'] : ANSWERED_BESIDE;
  return firstAnswer(keys.map((key) => fields[key])) ?? answerIn(isAnswer(fields) ? fields : undefined);
}

/** A row with a text that was asked and a text that was answered; one of them may be a list of messages. */
function rowIn(value: Fields): Conversation {
  const asked = askedIn(value);
  // A question with its reference answer is a data set item, not a message. A number is no answer either.
  const key = ANSWERED.find((one) => !isNumbers(value[one]) && answersIn(value[one]).said.length > 0);
  if (key === undefined || asked === undefined) {
    return NONE;
  }
  const { said, further } = answersIn(value[key]);
  const entries = [...systemOf(systemBeside(value)), ...askedWith(asked)];
  const second =
    key === 'chosen' && typeof value['rejected'] === 'string' ? { key: 'rejected', messages: 1 } : undefined;
  return { entries, answer: said, further, second };
}

const askedWith = (asked: unknown): readonly unknown[] =>
  asked === undefined ? [] : [{ role: 'user', content: asked }];

const isNone = (entry: unknown): boolean => parsedMessages([entry]).length === 0;

/**
 * The episode of a conversation.
 * @param id where it has none of its own
 * @returns null where no model says anything
 */
export function conversationEpisode(given: unknown, id: string, survey: Survey): RecordedEpisode | null {
  const value = holderIn(given) ?? given;
  const { entries: found, answer, further, second } = conversationIn(value);
  survey.leaveOut(BEYOND, found.length - MOST_MESSAGES);
  survey.leaveOut(`messages under a second key of their conversation (${second?.key ?? ''})`, second?.messages ?? 0);
  survey.leaveOut(FURTHER, further);
  const entries = found.slice(0, MOST_MESSAGES);
  survey.leaveOut('entries of conversations that are no messages', entries.filter(isNone).length);
  const fields = isRecord(value) ? value : {};
  const asked = parsedMessages(entries);
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
    question: questionOf(messages),
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
  const [only, ...others] = rewardsIn(fields);
  return (
    firstScore(fields['scores']) ??
    firstScore(fields['rewards']) ??
    firstScore(fields['labels']) ??
    (only === undefined || others.length > 0 ? null : returnOf(fields[only]))
  );
}

/** The keys of rewards of single functions, as TRL names them: `accuracy_reward`. One alone is the return. */
const rewardsIn = (fields: Fields): readonly string[] =>
  Object.keys(fields).filter((key) => /(?:^|_)reward(?:_func)?$/u.test(key) && returnOf(fields[key]) !== null);

/**
 * Messages of a group chat as AutoGen 0.2 keeps it: everybody has a name, and the role says only whose copy it is. Who
 * speaks first is the person; the others are agents.
 * @param agents names that the log gives as those of agents; then all others are what is around them
 */
function asGroup(messages: readonly ParsedMessage[], agents: ReadonlySet<string>): readonly ParsedMessage[] {
  const spoken = messages.filter(({ role }) => role === 'user' || role === 'assistant');
  const [first] = spoken;
  const names = new Set(spoken.map(({ name }) => name));
  // Who calls a tool has the role of an assistant in every copy.
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

/** The prompts of agents by their names, as Who&When has them beside the messages. */
function promptsIn(fields: Fields): ReadonlyMap<string, string> {
  const prompts = fieldsAt(fields, 'system_prompt');
  return new Map(Object.entries(prompts).flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])));
}

/** Names that a log gives as those of agents. */
function agentsIn(fields: Fields): ReadonlySet<string> {
  const mistaken = textAt(fields, 'mistake_agent');
  return new Set([...promptsIn(fields).keys(), ...(mistaken === null ? [] : [mistaken])]);
}

/** A message that a person marked, as Who&When says who made a mistake and when. */
interface Mark {
  readonly message: ParsedMessage;
  readonly note: string;
}

const NO_MARK = 'marks of mistakes whose message is not there';

/** @param entries as they are counted by the mark */
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
  const message = isPlace ? messages[parsedMessages(entries.slice(0, step)).length] : undefined;
  if (message?.role !== 'assistant') {
    survey.leaveOut(NO_MARK);
    return null;
  }
  return {
    message,
    note: [agent ?? message.name, textAt(fields, 'mistake_reason')].filter((one) => one !== null).join(': '),
  };
}

/** What is known of the one call that a request with its response is. */
interface AboutCall {
  readonly model: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly measured: RecordedMeasures;
}

function aboutCall(fields: Fields): AboutCall {
  const bodies = [bodyOf(fields, RESPONSES), bodyOf(fields, REQUESTS), fields].filter(isRecord);
  const usage =
    bodies.map((body) => body['usage'] ?? body['usageMetadata'] ?? fieldsAt(body, 'meta')['tokens']).find(isRecord) ??
    {};
  return {
    model:
      bodies
        .map((body) => textAt(body, 'model', 'model_name', 'modelVersion', 'modelId'))
        .find((one) => one !== null) ?? null,
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

/** What is measured of a message: what it says of its call, or what is known of the one call that was made. */
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

/** What LangChain, AutoGen, tau2, mini-swe-agent and servers keep of a call in the message that it gave. */
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
    ...spentIn(usage),
    measured: measuredOf(
      { start: timeOf(valueAt(fields, ...BEGUN)), end: timeOf(valueAt(fields, ...ENDED)) },
      measuresIn(fields),
    ),
  };
}
const BEGUN = ['start_time', 'startTime', 'started_at', 'timestamp', 'created_at', 'created'] as const;
const ENDED = ['end_time', 'endTime', 'ended_at', 'completed_at'] as const;

/** @param prompts of agents that are not among the messages; each is asked with its own */
function* entriesOf(
  messages: readonly ParsedMessage[],
  { mark, ...about }: AboutCall & { readonly mark: Mark | null },
  survey: Survey,
  prompts: ReadonlyMap<string, string>,
): Generator<RecordedMessage | RecordedEvent> {
  const chat = messages.map(chatOnly);
  const chats = new Map(
    [...prompts].map(([name, text]) => [name, [chatOnly(plainMessage('system', text)), ...chat]] as const),
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
