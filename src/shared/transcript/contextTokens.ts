/** Token boundaries of a model input and of its answer. */

/** Tokens that together represent a piece of text; several if a character consists of several tokens. */
export interface TokenSpan {
  readonly ids: readonly number[];
  readonly text: string;
}

/** The engine's answer about one message's tokens. */
export interface ContextTokens {
  readonly message: number;
  readonly context: readonly TokenSpan[];
  /** The stored tokens of the message itself, including the token that ended it. */
  readonly answer: readonly TokenSpan[];
  /** False if the tokenizer changes texts, so that the pieces do not join to the exact text. */
  readonly exact: boolean;
  /** Prompt tokens at sampling. A different number now means that the tokenizer has changed. */
  readonly storedPromptTokens: number;
}

export interface TokenSpans {
  readonly spans: readonly TokenSpan[];
  /** True if the spans join to the text. */
  readonly exact: boolean;
}

/**
 * Groups tokens so that the pieces join to the text. A token whose own text is only part of a
 * character is grouped with those after it.
 * @param decode returns the text of some ids, including special tokens
 */
export function groupTokens(
  ids: readonly number[],
  text: string,
  decode: (ids: readonly number[]) => string,
): TokenSpans {
  const spans: TokenSpan[] = [];
  let at = 0;
  for (let from = 0; from < ids.length;) {
    let to = from + 1;
    let piece = decode(ids.slice(from, to));
    // A character has at most four bytes, and therefore at most four tokens.
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
