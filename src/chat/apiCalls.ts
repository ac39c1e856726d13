/**
 * Calls of OpenAI-compatible servers as they pass by: chat completions, completions and responses, whole or in pieces.
 */
import { isRecord } from '../shared/guard.ts';
import { parsedJson, textAt } from './fields.ts';
import { parsedMessages, type ParsedMessage } from './messages.ts';
import { tokenCount, type ModelCall } from './modelCall.ts';

/** The forms of requests that say something of agents. */
export const API_PATHS = {
  '/chat/completions': 'chat',
  '/completions': 'completions',
  '/responses': 'responses',
} as const;
export type RecordedApi = (typeof API_PATHS)[keyof typeof API_PATHS];

type Fields = Readonly<Record<string, unknown>>;

const listIn = (fields: Fields, key: string): readonly unknown[] => {
  const list: unknown = fields[key];
  return Array.isArray(list) ? list : [];
};

/**
 * A call from its two bodies.
 * @param answer the whole body, or the pieces of a stream in order
 * @returns null where it says nothing, or is of another form
 */
export function apiCall(api: RecordedApi, request: unknown, answer: unknown): ModelCall | null {
  const whole = Array.isArray(answer) ? assembled(api, answer) : answer;
  if (!isRecord(request) || !isRecord(whole)) {
    return null;
  }
  const { input, output } = SAID[api](request, whole);
  const usage = isRecord(whole['usage']) ? whole['usage'] : {};
  return output.length === 0
    ? null
    : {
        input,
        output,
        model: textAt(whole, 'model') ?? textAt(request, 'model'),
        promptTokens: tokenCount(usage['prompt_tokens'] ?? usage['input_tokens']),
        completionTokens: tokenCount(usage['completion_tokens'] ?? usage['output_tokens']),
      };
}

const SAID: Readonly<Record<RecordedApi, (request: Fields, answer: Fields) => Pick<ModelCall, 'input' | 'output'>>> = {
  chat: (request, answer) => ({
    input: parsedMessages(request['messages']),
    output: parsedMessages(listIn(answer, 'choices').slice(0, 1)),
  }),
  completions: (request, answer) => {
    const { prompt } = request;
    const [choice] = listIn(answer, 'choices');
    const text: unknown = Array.isArray(prompt) ? prompt[0] : prompt;
    return {
      input: parsedMessages([{ role: 'user', content: typeof text === 'string' ? text : '' }]),
      output: isRecord(choice) ? parsedMessages([{ ...choice, role: 'assistant', content: choice['text'] ?? '' }]) : [],
    };
  },
  responses: (request, answer) => {
    const { instructions, input } = request;
    const given = typeof input === 'string' ? [{ role: 'user', content: input }] : listIn(request, 'input');
    const system = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : [];
    const said = parsedMessages(listIn(answer, 'output'));
    return { input: parsedMessages([...system, ...given]), output: oneMessage(said, answer) };
  },
};

/** All that one answer says, as the one message that it is. */
function oneMessage(said: readonly ParsedMessage[], answer: Fields): readonly ParsedMessage[] {
  const [first] = said;
  return first === undefined
    ? []
    : [
        {
          ...first,
          text: said.flatMap(({ text }) => (text === '' ? [] : [text])).join('\n'),
          calls: new Map(said.flatMap(({ calls }) => [...calls])),
          finish: answer['status'] === 'incomplete' ? 'length' : 'end',
        },
      ];
}

interface StreamedCall {
  id: unknown;
  name: string;
  arguments: string;
}

/** The body that the pieces of a stream make; null where its end is missing. */
function assembled(api: RecordedApi, pieces: readonly unknown[]): unknown {
  const bodies = pieces.filter(isRecord);
  if (api === 'responses') {
    const last = bodies.findLast(({ type }) => type === 'response.completed' || type === 'response.incomplete');
    return last?.['response'] ?? null;
  }
  const calls = new Map<unknown, StreamedCall>();
  let text = '';
  let finish: unknown = null;
  for (const body of bodies) {
    const choice = listIn(body, 'choices').find((one) => isRecord(one) && (one['index'] ?? 0) === 0);
    if (!isRecord(choice)) {
      continue;
    }
    finish = choice['finish_reason'] ?? finish;
    const delta = isRecord(choice['delta']) ? choice['delta'] : choice;
    text += textAt(delta, 'content', 'text') ?? '';
    for (const piece of listIn(delta, 'tool_calls').filter(isRecord)) {
      const key = piece['index'] ?? 0;
      const call = calls.get(key) ?? { id: null, name: '', arguments: '' };
      const of = isRecord(piece['function']) ? piece['function'] : {};
      calls.set(key, call);
      call.id ??= piece['id'];
      call.name += textAt(of, 'name') ?? '';
      call.arguments += textAt(of, 'arguments') ?? '';
    }
  }
  if (finish === null) {
    return null;
  }
  const made = [...calls.values()].map(({ id, ...of }) => ({ id, function: of }));
  const message = { role: 'assistant', content: text, ...(made.length > 0 && { tool_calls: made }) };
  const choice = { message, text, finish_reason: finish };
  const model = bodies.map((body) => textAt(body, 'model')).find((name) => name !== null);
  const usage = bodies.findLast((body) => isRecord(body['usage']))?.['usage'];
  return { model, usage, choices: [choice] };
}

/** The body of a request or of an answer; null where it is no JSON. */
export function bodyIn(text: string): unknown {
  const value = parsedJson(text);
  return typeof value === 'string' ? null : value;
}
