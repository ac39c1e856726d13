/** Formats the model input of one message as a document: its exact bytes and token boundaries. */

import type { FullMessage } from '../../domain/message.ts';
import { showHidden } from '../../shared/text/visible.ts';
import type { ContextTokens, TokenSpan } from '../../shared/transcript/contextTokens.ts';

type Shown = Pick<
  FullMessage,
  'id' | 'role' | 'context' | 'contextKey' | 'promptTokens' | 'snapshot' | 'tokens' | 'logprobs' | 'text'
>;

/** Maximum number of rows of a document. Further tokens are only counted. */
const MOST_ROWS = 50_000;
/** Maximum number of bytes shown of one token. */
const MOST_BYTES = 12;

/**
 * Writes one row per token: byte offset, id, bytes, and the text between bars. Tokens that are parts
 * of one character share a row.
 * @param tokens the engine's answer, or a sentence that says why there is none
 */
export function formatContextDocument(message: Shown, tokens: ContextTokens | string): string {
  const bytes = Buffer.byteLength(message.context, 'utf8');
  const head = [
    `Message ${message.id} of ${message.role}: the model input, exactly as the model saw it`,
    `context key ${message.contextKey} · snapshot ${message.snapshot.slice(0, 12)} · ` +
      `${bytes} bytes · ${message.promptTokens} tokens`,
    'Invisible characters are shown by name or code, as ⟨LF⟩ or ⟨U+202E⟩.',
  ];
  if (typeof tokens === 'string') {
    return [
      ...head,
      '',
      `Token boundaries cannot be shown: ${tokens}`,
      '',
      ...formatByteLines(message.context),
      '',
    ].join('\n');
  }
  const counted = tokens.context.reduce((sum, { ids }) => sum + ids.length, 0);
  if (counted !== tokens.storedPromptTokens) {
    head.push(
      `The tokenizer has changed: it makes ${counted} tokens of this input now, and made ${tokens.storedPromptTokens} when the message was sampled.`,
    );
  }
  if (!tokens.exact) {
    head.push('This tokenizer changes texts before it splits them: the pieces below do not join to the exact bytes.');
  }
  return [
    ...head,
    '',
    '   byte      id  bytes                                 text',
    ...formatTokenRows(tokens.context, null),
    '',
    `The answer: ${message.tokens.length} tokens, each with the natural logarithm of its probability`,
    '   byte      id  bytes                                 text',
    ...formatTokenRows(tokens.answer, message.logprobs),
    '',
  ].join('\n');
}

function formatTokenRows(spans: readonly TokenSpan[], logprobs: Float32Array | null): readonly string[] {
  let byte = 0;
  let token = 0;
  const lines = spans.slice(0, MOST_ROWS).map(({ ids, text }) => {
    const buffer = Buffer.from(text, 'utf8');
    const logprob =
      logprobs === null ? '' : `  ${ids.map((_, index) => logprobs[token + index]?.toFixed(4) ?? '').join(' ')}`;
    const line = `${String(byte).padStart(7)} ${ids.join('+').padStart(7)}  ${formatHexBytes(buffer).padEnd(37)} │${showHidden(text)}│${logprob}`;
    byte += buffer.length;
    token += ids.length;
    return line;
  });
  return spans.length > MOST_ROWS ? [...lines, `… and ${spans.length - MOST_ROWS} more`] : lines;
}

function formatHexBytes(bytes: Buffer): string {
  const shown = Array.from(bytes.subarray(0, MOST_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  return bytes.length > MOST_BYTES ? `${shown} …` : shown;
}

/** Formats a text without token boundaries: its lines, each with the byte offset of its start. */
function formatByteLines(text: string): readonly string[] {
  let byte = 0;
  return text.split(/(?<=\n)/u).map((line) => {
    const shown = `${String(byte).padStart(7)}  │${showHidden(line)}│`;
    byte += Buffer.byteLength(line, 'utf8');
    return shown;
  });
}
