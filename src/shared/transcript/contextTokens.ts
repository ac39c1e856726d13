/** Token boundaries of a model input and of what answered it. */

/** Tokens that together represent a stretch of text; several where a character is spread over them. */
export interface TokenSpan {
  readonly ids: readonly number[];
  readonly text: string;
}

/** What the engine says of one message's tokens. */
export interface ContextTokens {
  readonly message: number;
  readonly context: readonly TokenSpan[];
  /** The stored tokens of the message itself, the token that ended it among them. */
  readonly answer: readonly TokenSpan[];
  /** False where the tokenizer changes texts, so that the pieces do not join to the exact text. */
  readonly exact: boolean;
  /** Tokens that the message counted when it was sampled; another number says that the tokenizer has changed since. */
  readonly storedPromptTokens: number;
}

export interface TokenSpans {
  readonly spans: readonly TokenSpan[];
  /** Whether they join to the text. */
  readonly exact: boolean;
}

/**
 * Groups tokens so that the pieces join to the text: a token whose own text is only a part of a character is
 * grouped with those after it.
 * @param decode text of some ids, special tokens included
 * @returns the spans, and whether they join to the text
 */
export function spansOf(ids: readonly number[], text: string, decode: (ids: readonly number[]) => string): TokenSpans {
  const spans: TokenSpan[] = [];
  let at = 0;
  for (let from = 0; from < ids.length;) {
    let to = from + 1;
    let piece = decode(ids.slice(from, to));
    // No character takes more than four bytes, and so no more than four tokens.
    while (!text.startsWith(piece, at) && to < ids.length && to - from < 4) {
      piece = decode(ids.slice(from, ++to));
    }
    if (!text.startsWith(piece, at)) {
      return { spans: ids.map((id) => ({ ids: [id], text: decode([id]) })), exact: false };
    }
    spans.push({ ids: ids.slice(from, to), text: piece });
    at += piece.length;
    from = to;
  }
  return { spans, exact: at === text.length };
}
