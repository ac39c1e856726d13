/** Finds the bodies of a request and its response in logs of clients, proxies, batches and archives. */

import { fieldsAt, listAtKey, parseStructured, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { parseBody, saysError, wholeAnswer, type RecordedApi } from '../chat/streams.ts';
import { isRecord } from '../shared/guard.ts';

/** Keys of a request and its response, of clients, proxies, batches and Bedrock's log. */
export const REQUESTS = ['request', 'req', 'body', 'request_body', 'params', 'modelInput'] as const;
export const RESPONSES = ['response', 'res', 'reply', 'response_body', 'modelOutput'] as const;

/** Returns the response from an object that also holds its request, or undefined if there is none. */
export function readResponse(value: Fields): unknown {
  const response = readRecordedBody(value, RESPONSES);
  // DSPy stores the text of a Python object here and the answer under `outputs`.
  return typeof response === 'string' && OBJECT.test(response) && Array.isArray(value['outputs'])
    ? undefined
    : response;
}
const OBJECT = /^[A-Z]\w*\(/u;

/**
 * Returns the body of a request or of a response. It is the value itself or lies below `body`. It
 * can also be JSON in a text, the pieces of a stream in a list or a text, or the form that HTTP
 * archives use.
 */
export function readRecordedBody(value: Fields, keys: typeof REQUESTS | typeof RESPONSES): unknown {
  const [place, key] =
    keys === REQUESTS ? (['input', 'inputBodyJson'] as const) : (['output', 'outputBodyJson'] as const);
  const { result } = value;
  // Bedrock keeps the body below its metadata. A batch of Anthropic keeps the answer below its
  // outcome.
  const below =
    valueAt(fieldsAt(value, place), key) ??
    (keys === RESPONSES && isRecord(result) && result['type'] === 'succeeded' ? result['message'] : undefined);
  const given = parseStructured(below ?? valueAt(value, ...keys));
  const archived = isRecord(given) ? [given['postData'], given['content']].find(isArchived) : undefined;
  const body = archived?.text ?? (isRecord(given) && 'body' in given ? parseStructured(given['body']) : given);
  const pieces =
    typeof body === 'string' ? parseBody(body) : Array.isArray(body) && isPiece(body[0]) ? body : undefined;
  return streamedBody(pieces) ?? (typeof body === 'string' ? parseStructured(body) : body);
}

/** Returns true if a list that begins with the value holds the pieces of a stream. */
const isPiece = (first: unknown): boolean =>
  isRecord(first) &&
  (/^(?:message_start$|response\.)/u.test(textAt(first, 'type') ?? '') ||
    listAtKey(first, 'choices').some((choice) => isRecord(choice) && 'delta' in choice));

const isArchived = (value: unknown): value is { readonly text: string } =>
  isRecord(value) && typeof value['text'] === 'string' && 'mimeType' in value;

/** Returns the whole answer of a stream that was kept as it came, or undefined for any other value. */
function streamedBody(pieces: unknown): unknown {
  const first = Array.isArray(pieces) ? pieces.find(isRecord) : undefined;
  return first === undefined ? undefined : wholeAnswer(detectApiOfPiece(first), pieces)?.body;
}

function detectApiOfPiece(piece: Fields): RecordedApi {
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

/** The lowest HTTP status that says that a request failed. */
const LOWEST_FAILED_STATUS = 400;

/** Returns true if the server answered with an error. */
export function hasFailed(fields: Fields): boolean {
  const response = valueAt(fields, ...RESPONSES);
  const status = isRecord(response) ? valueAt(response, 'status_code', 'status', 'statusCode') : undefined;
  const body = readRecordedBody(fields, RESPONSES);
  const isRefused = typeof status === 'number' && status >= LOWEST_FAILED_STATUS;
  return (
    isRefused ||
    fieldsAt(fields, 'result')['type'] === 'errored' ||
    saysError(fields['error']) ||
    (isRecord(body) && saysError(body['error']))
  );
}
