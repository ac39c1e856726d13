/** Trains a byte-level BPE vocabulary (Sennrich et al. 2016), written in the tokenizer.json format. */

export const END_OF_MESSAGE = '<|end|>';

/**
 * Pieces that merges never cross. A digit is a piece. A word includes the space before it, and the
 * space after it if a digit follows. Punctuation includes the white space around it.
 */
const PIECE = ' ?\\p{L}+(?: (?=\\p{N}))?|\\p{N}|\\s*[^\\s\\p{L}\\p{N}]+\\s*|\\s+';

/** Returns GPT-2's printable stand-ins for the 256 bytes. */
function byteCharacters(): string[] {
  let shifted = 0;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCodePoint(printable ? byte : 256 + shifted++);
  });
}

interface Word {
  symbols: string[];
  readonly count: number;
}

/**
 * Merges the most frequent pair (ties: the lexicographically smaller) until the vocabulary is full
 * or no pair occurs twice.
 * @returns the contents of tokenizer.json and tokenizer_config.json
 */
export function trainBpe(texts: Iterable<string>, vocabularySize: number): { tokenizer: object; config: object } {
  const characters = byteCharacters();
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const [piece] of text.matchAll(new RegExp(PIECE, 'gu'))) {
      counts.set(piece, (counts.get(piece) ?? 0) + 1);
    }
  }
  const words: Word[] = [...counts].map(([piece, count]) => ({
    symbols: Array.from(Buffer.from(piece, 'utf8'), (byte) => characters[byte] ?? ''),
    count,
  }));
  const vocabulary = [END_OF_MESSAGE, ...characters];
  const merges: [string, string][] = [];
  while (vocabulary.length < vocabularySize) {
    const best = mostFrequentPair(words);
    if (best === undefined) {
      break;
    }
    merges.push(best);
    vocabulary.push(best.join(''));
    for (const word of words) {
      mergePair(word, best);
    }
  }
  const added = {
    id: 0,
    content: END_OF_MESSAGE,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  };
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [added],
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: PIECE }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges,
    },
  };
  return {
    tokenizer,
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      eos_token: END_OF_MESSAGE,
      clean_up_tokenization_spaces: false,
    },
  };
}

function mostFrequentPair(words: readonly Word[]): [string, string] | undefined {
  const totals = new Map<string, { pair: [string, string]; count: number }>();
  for (const { symbols, count } of words) {
    for (let index = 0; index + 1 < symbols.length; index++) {
      const pair: [string, string] = [symbols[index] ?? '', symbols[index + 1] ?? ''];
      const key = pair.join(' ');
      const known = totals.get(key);
      if (known === undefined) {
        totals.set(key, { pair, count });
      } else {
        known.count += count;
      }
    }
  }
  let best: { key: string; pair: [string, string]; count: number } | undefined;
  for (const [key, { pair, count }] of totals) {
    if (count < 2) {
      continue;
    }
    if (best === undefined || count > best.count || (count === best.count && key < best.key)) {
      best = { key, pair, count };
    }
  }
  return best?.pair;
}

function mergePair(word: Word, [left, right]: readonly [string, string]): void {
  const merged: string[] = [];
  for (let index = 0; index < word.symbols.length; index++) {
    const symbol = word.symbols[index] ?? '';
    if (symbol === left && word.symbols[index + 1] === right) {
      merged.push(left + right);
      index++;
    } else {
      merged.push(symbol);
    }
  }
  word.symbols = merged;
}
