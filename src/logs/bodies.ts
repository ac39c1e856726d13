/** Finds the bodies of a request and its response in logs of clients, proxies, batches and archives. */
import { fieldsAt, listAtKey, structured, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { bodyIn, saysError, wholeAnswer, type RecordedApi } from '../chat/streams.ts';
import { isRecord } from '../shared/guard.ts';

/** The keys of a request and of its response: of clients and proxies, batches, and Bedrock's log of invocations. */
export const REQUESTS = ['request', 'req', 'body', 'request_body', 'params', 'modelInput'] as const;
export const RESPONSES = ['response', 'res', 'reply', 'response_body', 'modelOutput'] as const;

/** The response in an object that also holds its request. Undefined if there is none. */
export function answerGiven(value: Fields): unknown {
  const response = bodyOf(value, RESPONSES);
  // DSPy has the text of a Python object there, and what was said beside it.
  return typeof response === 'string' && OBJECT.test(response) && Array.isArray(value['outputs'])
    ? undefined
    : response;
}
const OBJECT = /^[A-Z]\w*\(/u;

/**
 * The body of a request or of a response: itself, below `body`, where HTTP archives have it, as JSON in a text, or as
 * the pieces of a stream in one.
 */
export function bodyOf(value: Fields, keys: typeof REQUESTS | typeof RESPONSES): unknown {
  const [place, key] =
    keys === REQUESTS ? (['input', 'inputBodyJson'] as const) : (['output', 'outputBodyJson'] as const);
  const { result } = value;
  // Bedrock keeps the body below what is known of it, and a batch of Anthropic the answer below what came of it.
  const below =
    valueAt(fieldsAt(value, place), key) ??
    (keys === RESPONSES && isRecord(result) && result['type'] === 'succeeded' ? result['message'] : undefined);
  const given = structured(below ?? valueAt(value, ...keys));
  const archived = isRecord(given) ? [given['postData'], given['content']].find(isArchived) : undefined;
  const body = archived?.text ?? (isRecord(given) && 'body' in given ? structured(given['body']) : given);
  const pieces = typeof body === 'string' ? bodyIn(body) : Array.isArray(body) && isPiece(body[0]) ? body : undefined;
  return streamedBody(pieces) ?? (typeof body === 'string' ? structured(body) : body);
}

/** Whether a list that begins with a value is a stream in its pieces. */
const isPiece = (first: unknown): boolean =>
  isRecord(first) &&
  (/^(?:message_start$|response\.)/u.test(textAt(first, 'type') ?? '') ||
    listAtKey(first, 'choices').some((choice) => isRecord(choice) && 'delta' in choice));

const isArchived = (value: unknown): value is { readonly text: string } =>
  isRecord(value) && typeof value['text'] === 'string' && 'mimeType' in value;

/** The whole answer of a stream that was kept as it came; undefined for any other value. */
function streamedBody(pieces: unknown): unknown {
  const first = Array.isArray(pieces) ? pieces.find(isRecord) : undefined;
  return first === undefined ? undefined : wholeAnswer(apiOfPiece(first), pieces)?.body;
}

function apiOfPiece(piece: Fields): RecordedApi {
  const type = textAt(piece, 'type') ?? '';
  if ('choices' in piece) {
    return 'chat';
  }
  return type.startsWith('response.')
    ? 'responses'
    : type !== ''
      ? 'messages'
      : 'candidates' in piece
        ? 'gemini'
        : 'ollama';
}

/** From here on a status of HTTP says that a request failed. */
const REFUSED = 400;

/** Whether the answer of a server was an error. */
export function hasFailed(fields: Fields): boolean {
  const response = valueAt(fields, ...RESPONSES);
  const status = isRecord(response) ? valueAt(response, 'status_code', 'status', 'statusCode') : undefined;
  const body = bodyOf(fields, RESPONSES);
  const isRefused = typeof status === 'number' && status >= REFUSED;
  return (
    isRefused ||
    fieldsAt(fields, 'result')['type'] === 'errored' ||
    saysError(fields['error']) ||
    (isRecord(body) && saysError(body['error']))
  );
}
