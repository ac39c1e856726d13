/**
 * Reads a model's answer from the bodies of OpenAI, Anthropic, Gemini and Ollama, from LangChain's
 * records of a call, or from a bare text.
 */

import { isRecord } from '../shared/guard.ts';
import { listAtKey, textAt, valueAt, type Fields } from './fields.ts';
import { joinAnswerPieces, parseMessages, plainMessage, type ParsedMessage } from './messages.ts';

export interface Answer {
  /** The answer's messages, and the results of the server's own tools. */
  readonly said: readonly ParsedMessage[];
  /** The number of answers beside the first, because a request may ask for several. */
  readonly further: number;
}

/** The reason for leaving an answer out, in reports. */
export const FURTHER_ANSWERS = 'further answers to one call (n > 1)';

const TEXTS = ['text', 'generated_text', 'completion', 'response', 'answer', 'result', 'output_text'] as const;

/** Fields of a body other than its text: Cohere's calls, DSPy's reasoning. */
const BESIDE = ['reasoning_content', 'reasoning', 'thinking', 'tool_calls', 'citations', 'finish_reason'] as const;

/**
 * Reads an answer.
 * @param body of an answer, or a text; a body of an unknown form gives no messages
 */
export function readModelAnswer(body: unknown): Answer {
  if (Array.isArray(body)) {
    return { said: fromModel(parseMessages(body)), further: 0 };
  }
  if (!isRecord(body)) {
    return {
      said: body === undefined || body === null || body === '' ? [] : [plainMessage('assistant', body)],
      further: 0,
    };
  }
  for (const key of ['choices', 'candidates', 'generations'] as const) {
    const list = listAtKey(body, key);
    const answers = key === 'generations' && Array.isArray(list[0]) ? (list[0] as readonly unknown[]) : list;
    if (answers.length > 0) {
      const first = answers.find((one) => isRecord(one) && (one['index'] ?? 0) === 0) ?? answers[0];
      return { said: readAnswerChoice(first), further: answers.length - 1 };
    }
  }
  return { said: readAnswerBody(body), further: 0 };
}

const fromModel = (messages: readonly ParsedMessage[]): readonly ParsedMessage[] =>
  messages.filter(({ role }) => role === 'assistant' || role === 'tool');

/** Reads a choice with a message, or with only a text. */
function readAnswerChoice(choice: unknown): readonly ParsedMessage[] {
  const message = parseMessages([choice]);
  if (message.length > 0 || !isRecord(choice)) {
    return fromModel(message);
  }
  const { message: inner, delta } = choice;
  const given = [inner, delta].find(isRecord) ?? { content: valueAt(choice, ...TEXTS) };
  return fromModel(parseMessages([{ ...choice, message: undefined, delta: undefined, role: 'assistant', ...given }]));
}

function readAnswerBody(body: Fields): readonly ParsedMessage[] {
  const own = valueAt(body, 'output', 'message', 'messages');
  if (Array.isArray(own)) {
    // In a whole conversation, the last message is the answer.
    const messages = parseMessages(own);
    if (body['object'] === 'response') {
      const { said, results } = joinAnswerPieces(messages);
      return said === null ? [] : [said, ...results];
    }
    return 'messages' in body && !('output' in body) ? fromModel(messages.slice(-1)) : fromModel(messages);
  }
  if (isRecord(own)) {
    const said = fromModel(parseMessages([{ role: 'assistant', ...own }]));
    return said.length > 0 ? said : readAnswerBody(own);
  }
  if (own !== undefined && textAt(body, 'role') === null) {
    return [plainMessage('assistant', own)];
  }
  if ('content' in body) {
    return fromModel(parseMessages([{ role: 'assistant', ...body }]));
  }
  const text = valueAt(body, ...TEXTS);
  if (text === undefined || typeof text === 'object') {
    return fromModel(parseMessages([body]));
  }
  const beside = BESIDE.flatMap((key) => (Object.hasOwn(body, key) ? [[key, body[key]] as const] : []));
  return fromModel(parseMessages([{ role: 'assistant', content: text, ...Object.fromEntries(beside) }]));
}
