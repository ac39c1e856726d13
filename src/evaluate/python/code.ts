/** Extracts the code of a message. */

import { removeThinking } from '../../shared/text/thinking.ts';

/** A fenced block: its language word, and the text up to the closing fence or the end of the message. */
const FENCE = /^[ \t]*(?:```|~~~)[ \t]*([\w+-]*)[^\n]*\n([\s\S]*?)(?:^[ \t]*(?:```|~~~)|(?![\s\S]))/gm;

/** Longer messages are read up to this length. */
const MAX_MESSAGE = 1 << 20;

/** The blocks that are the code: the first, as in the published extraction, the last, or all joined. */
export const CODE_BLOCKS = ['first', 'last', 'all'] as const;
export type CodeBlocks = (typeof CODE_BLOCKS)[number];

/**
 * Returns the code of a message: of its blocks fenced as Python (`python`, `python3`, `py`), else of
 * those without a language, else of all, the chosen ones; without blocks the whole message. Thinking
 * (`<think>`) and the language word of a block are left out.
 */
export function extractCode(message: string, chosen: CodeBlocks = 'first'): string {
  const text = boundMessage(message);
  return joinChosenBlocks(text, chosen) ?? text;
}

/** Returns the code of the blocks that extractCode chooses, or null if the message has no blocks. */
export function extractFencedCode(message: string, chosen: CodeBlocks = 'first'): string | null {
  return joinChosenBlocks(boundMessage(message), chosen);
}

/** Returns true if a text begins with a fence, as no program does. */
export function beginsWithFence(text: string): boolean {
  return /^\s*(?:```|~~~)/.test(text.slice(0, MAX_MESSAGE));
}

const boundMessage = (message: string): string =>
  removeThinking(message.slice(0, MAX_MESSAGE).replaceAll('\r\n', '\n'));

/** Returns the first block in one of some languages, else the first without a language, or null. */
export function findFencedBlock(message: string, languages: readonly string[]): string | null {
  const blocks = listFencedBlocks(boundMessage(message));
  const block =
    blocks.find(({ language }) => languages.includes(language)) ?? blocks.find(({ language }) => language === '');
  return block?.code ?? null;
}

function listFencedBlocks(text: string): { readonly language: string; readonly code: string }[] {
  return [...text.matchAll(FENCE)].map(([, language = '', code = '']) => ({ language: language.toLowerCase(), code }));
}

function joinChosenBlocks(text: string, chosen: CodeBlocks): string | null {
  const blocks = listFencedBlocks(text);
  const python = blocks.filter(({ language }) => ['python', 'python3', 'py'].includes(language));
  const unnamed = blocks.filter(({ language }) => language === '');
  const codes = [python, unnamed, blocks].find(({ length }) => length > 0)?.map(({ code }) => code);
  return chosen === 'all' ? (codes?.join('\n') ?? null) : (codes?.at(chosen === 'first' ? 0 : -1) ?? null);
}
