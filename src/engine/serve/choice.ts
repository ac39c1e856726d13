/** Turns the tokens of one choice into text that ends before the first stop text. */

import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { Completion } from '../../runtime/generate/generate.ts';

/** A complete choice. */
export interface Choice {
  readonly text: string;
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
  readonly finish: 'stop' | 'length';
  readonly promptTokens: number;
}

/** The next part of a choice in a stream. */
export interface Delta {
  readonly text: string;
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
}

type Decode = Pick<Tokenizer, 'decode'>;

/** Output of a decoder for bytes of an incomplete character. */
const INCOMPLETE = '\uFFFD';

/** Returns the index of the first stop text, or -1. */
export function findStop(text: string, stops: readonly string[]): number {
  const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
  return places.length === 0 ? -1 : Math.min(...places);
}

/** Returns the number of final characters. The rest may change, or begin a stop text. */
export function countFinalCharacters(text: string, stops: readonly string[]): number {
  let length = text.length;
  while (length > 0 && text[length - 1] === INCOMPLETE) {
    length--;
  }
  const begins = (held: number): boolean => stops.some((stop) => stop.startsWith(text.slice(length - held, length)));
  const longest = Math.min(length, Math.max(0, ...stops.map((stop) => stop.length - 1)));
  for (let held = longest; held > 0; held--) {
    if (begins(held)) {
      return length - held;
    }
  }
  return length;
}

/**
 * Converts a completion to a choice. The text is cut before the first stop text, the tokens after
 * the one that completes it. The result depends only on the completion.
 */
export async function toChoice(
  tokenizer: Decode,
  { tokens, logprobs, finish, promptTokens }: Omit<Completion, 'reusedTokens'>,
  stops: readonly string[],
): Promise<Choice> {
  const text = await tokenizer.decode(tokens);
  const place = findStop(text, stops);
  if (place < 0) {
    const ended = finish === 'end' ? 'stop' : 'length';
    return { text, tokens: [...tokens], logprobs: [...logprobs], finish: ended, promptTokens };
  }
  const count = await countTokensUntilStop(tokenizer, tokens, stops);
  return {
    text: text.slice(0, place),
    tokens: [...tokens.subarray(0, count)],
    logprobs: [...logprobs.subarray(0, count)],
    finish: 'stop',
    promptTokens,
  };
}

/** Returns the fewest tokens whose text has a stop text. Bisects, because more tokens never remove one. */
async function countTokensUntilStop(tokenizer: Decode, tokens: Int32Array, stops: readonly string[]): Promise<number> {
  let [low, high] = [1, tokens.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (findStop(await tokenizer.decode(tokens.subarray(0, middle)), stops) >= 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** Follows the tokens of one choice, and reports the final part of its text. */
export class FollowedChoice {
  private readonly tokenizer: Decode;
  private readonly stops: readonly string[];
  private readonly onDelta: ((delta: Delta) => void) | null;
  private readonly onStop: () => void;
  private readonly tokens: number[] = [];
  private readonly logprobs: number[] = [];
  private sent = 0;
  private sentTokens = 0;
  private decoding: Promise<void> | null = null;
  private stopped = false;

  /**
   * @param onDelta receives new parts, or null if the answer is not streamed
   * @param onStop called when a stop text is found, so that generation can end
   */
  constructor(
    tokenizer: Decode,
    stops: readonly string[],
    onDelta: ((delta: Delta) => void) | null,
    onStop: () => void,
  ) {
    this.tokenizer = tokenizer;
    this.stops = stops;
    this.onDelta = onDelta;
    this.onStop = onStop;
  }

  push(token: number, logprob: number): void {
    this.tokens.push(token);
    this.logprobs.push(logprob);
    this.decoding ??= this.advance();
  }

  /** Returns the tokens so far as a completion that a stop text ended, or null if none was found. */
  stoppedAt(promptTokens: number): Omit<Completion, 'reusedTokens'> | null {
    return this.stopped
      ? {
          tokens: Int32Array.from(this.tokens),
          logprobs: Float32Array.from(this.logprobs),
          finish: 'end',
          promptTokens,
        }
      : null;
  }

  /** Reports the rest of a complete choice. */
  async end(choice: Choice): Promise<void> {
    await this.decoding;
    this.say(choice.text, choice.tokens, choice.logprobs);
  }

  private async advance(): Promise<void> {
    try {
      for (let count = 0; count < this.tokens.length && !this.stopped;) {
        count = this.tokens.length;
        const text = await this.tokenizer.decode(Int32Array.from(this.tokens.slice(0, count)));
        if (findStop(text, this.stops) >= 0) {
          this.stopped = true;
          this.onStop();
        } else {
          this.say(text.slice(0, countFinalCharacters(text, this.stops)), this.tokens.slice(0, count), this.logprobs);
        }
      }
    } catch {
      // Decoding the whole choice at its end reports the same error.
    } finally {
      this.decoding = null;
    }
  }

  private say(text: string, tokens: readonly number[], logprobs: readonly number[]): void {
    if (this.onDelta !== null && (text.length > this.sent || tokens.length > this.sentTokens)) {
      const delta = {
        text: text.slice(this.sent),
        tokens: tokens.slice(this.sentTokens),
        logprobs: logprobs.slice(this.sentTokens, tokens.length),
      };
      this.sent = Math.max(this.sent, text.length);
      this.sentTokens = Math.max(this.sentTokens, tokens.length);
      this.onDelta(delta);
    }
  }
}
