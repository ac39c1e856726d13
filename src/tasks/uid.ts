/** The identity of questions. */

import { createHash } from 'node:crypto';

/**
 * Returns the identity of a question: SHA-256 over UTF-8 of the text in NFC, with CRLF and CR as LF
 * and without whitespace at its end (the C3 paper's `uid_sha`; whitespace at line ends inside the text
 * stays).
 * @returns 64 lowercase hex digits
 */
export function uidSha(question: string): string {
  return sha256(normaliseQuestion(question));
}

/**
 * Returns the identity of a set of questions: SHA-256 of its sorted uidShas joined by newlines. Their
 * order does not matter.
 */
export function splitFingerprint(uidShas: readonly string[]): string {
  return sha256([...uidShas].sort().join('\n'));
}

/** Yields the items in their order, each question once: later items with the same uidSha are skipped. */
export function* distinctQuestions<Item extends { readonly uidSha: string }>(
  items: Iterable<Item>,
): Generator<Item, void, undefined> {
  const seen = new Set<string>();
  for (const item of items) {
    if (!seen.has(item.uidSha)) {
      seen.add(item.uidSha);
      yield item;
    }
  }
}

function normaliseQuestion(question: string): string {
  return question.normalize('NFC').replace(/\r\n?/gu, '\n').trimEnd();
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
