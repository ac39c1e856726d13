/** Calls of model servers as they pass by, whole or in pieces: what was asked, and what was said. */
import { isRecord } from '../shared/guard.ts';
import { fieldsAt, listAtKey, textAt, valueAt, type Fields } from './fields.ts';
import { finishOf } from './finish.ts';
import { measuresIn } from './measures.ts';
import { answerOf, parsedMessages, type ParsedMessage } from './messages.ts';
import { tokenCount, type ModelCall } from './modelCall.ts';
import { wholeAnswer, type RecordedApi } from './streams.ts';

export { bodyIn, type RecordedApi } from './streams.ts';

/**
 * The form of the request that a path is for; null for one that says nothing of agents.
 * @param path below the base address, with its query or without: `/chat/completions`, `/v1/messages?beta=true`,
 * `/openai/deployments/NAME/chat/completions?api-version=...`
 */
export function apiOf(path: string): RecordedApi | null {
  const [plain = ''] = path.split(/[?#]/u, 1);
  const parts = plain.split('/').filter((part) => part !== '');
  const [last = '', before = ''] = parts.toReversed();
  switch (last) {
    case 'completions':
      return before === 'chat' ? 'chat' : 'completions';
    case 'responses':
      return 'responses';
    case 'messages':
      // Threads of OpenAI's assistants have messages too.
      return before === '' || before === 'anthropic' || /^v\d+$/u.test(before) ? 'messages' : null;
    case 'chat':
      return before === 'api' ? 'ollama' : null;
    default:
      return /(?::|%3a)(?:generate|streamGenerate)Content$/iu.test(last) ? 'gemini' : null;
  }
}

/** A call as it passed by. */
export interface PassedModelCall extends ModelCall {
  /** Answers to the same request that are not in it: a program may ask for several. */
  readonly furtherChoices: number;
}

/**
 * A call from its two bodies.
 * @param answer the whole body, or the pieces of a stream in order, with STREAM_END where it came
 * @returns null where it says nothing, is of another form, or is larger than any call is
 */
export function apiCall(api: RecordedApi, request: unknown, answer: unknown): PassedModelCall | null {
  try {
    return isRecord(request) ? callOf(api, request, answer) : null;
  } catch (error) {
    if (error instanceof RangeError) {
      return null;
    }
    throw error;
  }
}

function callOf(api: RecordedApi, request: Fields, answer: unknown): PassedModelCall | null {
  const whole = wholeAnswer(api, answer);
  if (whole === null) {
    return null;
  }
  const { body, tokens, further } = whole;
  const output = SAID[api](body);
  return output.length === 0
    ? null
    : {
        input: parsedMessages(ASKED[api](request)),
        output,
        model: textAt(body, 'model', 'modelVersion') ?? textAt(request, 'model'),
        promptTokens: tokenCount(tokens.prompt),
        completionTokens: tokenCount(tokens.completion),
        measures: measuresIn(request, fieldsAt(body, 'usage')),
        furtherChoices: further,
      };
}

/** What the system prompt beside the messages says, as a message. */
const systemIn = (content: unknown): readonly unknown[] =>
  content === undefined || content === null ? [] : [{ role: 'system', content }];

/** The messages of a request. */
const ASKED: Readonly<Record<RecordedApi, (request: Fields) => readonly unknown[]>> = {
  chat: (request) => listAtKey(request, 'messages'),
  ollama: (request) => listAtKey(request, 'messages'),
  completions: ({ prompt }) => {
    const text: unknown = Array.isArray(prompt) ? prompt[0] : prompt;
    return [{ role: 'user', content: typeof text === 'string' ? text : '' }];
  },
  responses: (request) => {
    const { instructions, input } = request;
    const given = typeof input === 'string' ? [{ role: 'user', content: input }] : listAtKey(request, 'input');
    return [...systemIn(instructions), ...given];
  },
  messages: (request) => [...systemIn(request['system']), ...listAtKey(request, 'messages')],
  gemini: (request) => {
    const system = valueAt(request, 'systemInstruction', 'system_instruction');
    return [
      ...systemIn(isRecord(system) ? listAtKey(system, 'parts') : system),
      // A request of one message may leave its role out.
      ...listAtKey(request, 'contents').map((one) => (isRecord(one) ? { role: 'user', ...one } : one)),
    ];
  },
};

const choiceSaid = (body: Fields): readonly ParsedMessage[] => oneAnswer(listAtKey(body, 'choices'));

/** What an answer says. */
const SAID: Readonly<Record<RecordedApi, (body: Fields) => readonly ParsedMessage[]>> = {
  chat: choiceSaid,
  ollama: choiceSaid,
  completions: choiceSaid,
  responses: (body) =>
    oneAnswer(listAtKey(body, 'output'), body['status'] === 'incomplete' ? 'length' : finishOf(body['status'])),
  messages: (body) => oneAnswer('content' in body ? [{ ...body, role: 'assistant' }] : []),
  gemini: (body) => oneAnswer(listAtKey(body, 'candidates').slice(0, 1)),
};

/** All that one answer says as one message, and after it what the server's own tools gave meanwhile. */
function oneAnswer(entries: readonly unknown[], finish?: ParsedMessage['finish']): readonly ParsedMessage[] {
  const { said, results } = answerOf(parsedMessages(entries));
  return said === null ? [] : [{ ...said, finish: finish ?? said.finish }, ...results];
}
