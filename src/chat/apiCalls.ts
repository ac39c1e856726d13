/** Reads the input and the output of calls that pass by, from bodies that are whole or in pieces. */

import { isRecord } from '../shared/guard.ts';
import { fieldsAt, listAtKey, textAt, valueAt, type Fields } from './fields.ts';
import { toFinish } from './finish.ts';
import { readMeasures } from './measures.ts';
import { joinAnswerPieces, parseMessages, type ParsedMessage } from './messages.ts';
import { tokenCount, type ModelCall } from './modelCall.ts';
import { wholeAnswer, type RecordedApi } from './streams.ts';

export { parseBody as bodyIn, type RecordedApi } from './streams.ts';

/**
 * Returns the API of a request's path, or null for a path that is no model call.
 * @param path below the base address, with or without its query: `/chat/completions`,
 *   `/v1/messages?beta=true`, `/openai/deployments/NAME/chat/completions?api-version=...`
 */
export function detectApi(path: string): RecordedApi | null {
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

/** A call that was passed on. */
export interface PassedModelCall extends ModelCall {
  /** The number of further answers to the same request, which are not part of it. */
  readonly furtherChoices: number;
}

/**
 * Reads a call from its two bodies.
 * @param answer the whole body, or the pieces of a stream in order, with STREAM_END if it came
 * @returns null if the answer is empty, has another form, or exceeds a limit
 */
export function readApiCall(api: RecordedApi, request: unknown, answer: unknown): PassedModelCall | null {
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
        input: parseMessages(ASKED[api](request)),
        output,
        model: textAt(body, 'model', 'modelVersion') ?? textAt(request, 'model'),
        promptTokens: tokenCount(tokens.prompt),
        completionTokens: tokenCount(tokens.completion),
        measures: readMeasures(request, fieldsAt(body, 'usage')),
        furtherChoices: further,
      };
}

/** Returns the system prompt beside the messages as a message. */
const systemIn = (content: unknown): readonly unknown[] =>
  content === undefined || content === null ? [] : [{ role: 'system', content }];

/** Readers of a request's messages. */
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
      // A request of one message may omit its role.
      ...listAtKey(request, 'contents').map((one) => (isRecord(one) ? { role: 'user', ...one } : one)),
    ];
  },
};

const readChoices = (body: Fields): readonly ParsedMessage[] => joinAnswer(listAtKey(body, 'choices'));

/** Readers of an answer's messages. */
const SAID: Readonly<Record<RecordedApi, (body: Fields) => readonly ParsedMessage[]>> = {
  chat: readChoices,
  ollama: readChoices,
  completions: readChoices,
  responses: (body) =>
    joinAnswer(listAtKey(body, 'output'), body['status'] === 'incomplete' ? 'length' : toFinish(body['status'])),
  messages: (body) => joinAnswer('content' in body ? [{ ...body, role: 'assistant' }] : []),
  gemini: (body) => joinAnswer(listAtKey(body, 'candidates').slice(0, 1)),
};

/** Returns one answer as one message, followed by the results of the server's own tools. */
function joinAnswer(entries: readonly unknown[], finish?: ParsedMessage['finish']): readonly ParsedMessage[] {
  const { said, results } = joinAnswerPieces(parseMessages(entries));
  return said === null ? [] : [{ ...said, finish: finish ?? said.finish }, ...results];
}
