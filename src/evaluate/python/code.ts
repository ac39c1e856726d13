/** The code that a message holds. */

/** A fenced block: its language word, and all to the closing fence or, in a message that was cut off, to the end. */
const FENCE = /^[ \t]*(?:```|~~~)[ \t]*([\w+-]*)[^\n]*\n([\s\S]*?)(?:^[ \t]*(?:```|~~~)|(?![\s\S]))/gm;

/** Longer messages are read up to here. */
const MAX_MESSAGE = 1 << 20;

/**
 * The first block fenced as Python (`python`, `python3`, `py`), else the first block of no named language, else the
 * first of any, else the whole message; as the published extraction, but a block's language word is never part of its
 * code.
 */
export function extractCode(message: string): string {
  const text = bounded(message);
  return fencedIn(text) ?? text;
}

/** The block that extractCode takes; null where the message holds none. */
export function fencedCode(message: string): string | null {
  return fencedIn(bounded(message));
}

/** Whether a text begins with a fence, as no program does. */
export function beginsWithFence(text: string): boolean {
  return /^\s*(?:```|~~~)/.test(text.slice(0, MAX_MESSAGE));
}

const bounded = (message: string): string => message.slice(0, MAX_MESSAGE).replaceAll('\r\n', '\n');

/**
 * The first block fenced as one of some languages, else the first block of no named language; null where the message
 * holds neither.
 */
export function fencedBlock(message: string, languages: readonly string[]): string | null {
  const blocks = blocksIn(bounded(message));
  const block =
    blocks.find(({ language }) => languages.includes(language)) ?? blocks.find(({ language }) => language === '');
  return block?.code ?? null;
}

function blocksIn(text: string): { readonly language: string; readonly code: string }[] {
  return [...text.matchAll(FENCE)].map(([, language = '', code = '']) => ({ language: language.toLowerCase(), code }));
}

function fencedIn(text: string): string | null {
  const blocks = blocksIn(text);
  const block =
    blocks.find(({ language }) => ['python', 'python3', 'py'].includes(language)) ??
    blocks.find(({ language }) => language === '') ??
    blocks[0];
  return block?.code ?? null;
}
