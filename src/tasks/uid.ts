/** What makes two instances the same question, and proof that two sets share none. */
import { createHash } from 'node:crypto';
import { C3Error } from '../shared/errors.ts';
import type { Instance } from '../shared/records.ts';

/**
 * The identity of a question: SHA-256 over UTF-8 of the text in NFC, with CRLF and CR as LF and no whitespace at its end
 * (the C3 paper's `uid_sha`; line ends inside the text keep theirs).
 * @returns 64 lower-case hex digits
 */
export function uidSha(question: string): string {
  return sha256(normaliseQuestion(question));
}

/** The identity of a set of questions: SHA-256 of its sorted uidShas joined by newline; the order given does not matter. */
export function splitFingerprint(uidShas: readonly string[]): string {
  return sha256([...uidShas].sort().join('\n'));
}

/** The items in their order, each question once: a later item of the same uidSha is passed over. */
export function* distinctQuestions<Item extends { readonly uidSha: string }>(items: Iterable<Item>): Generator<Item, void, undefined> {
  const seen = new Set<string>();
  for (const item of items) {
    if (!seen.has(item.uidSha)) {
      seen.add(item.uidSha);
      yield item;
    }
  }
}

/**
 * Proves that no training question is also evaluated.
 * @throws C3Error('input') with the number of shared questions and the first evaluation uid among them
 */
export function assertNoOverlap(
  train: readonly Pick<Instance, 'uid' | 'uidSha'>[],
  evaluation: readonly Pick<Instance, 'uid' | 'uidSha'>[],
): void {
  const trained = new Map(train.map((instance) => [instance.uidSha, instance.uid]));
  const shared = evaluation.filter((instance) => trained.has(instance.uidSha));
  const first = shared[0];
  if (first === undefined) {
    return;
  }
  throw new C3Error(
    'input',
    `${shared.length} of ${evaluation.length} evaluation questions are also trained on, first ${first.uid} ` +
      `(training's ${trained.get(first.uidSha) ?? ''}): remove them from one side.`,
  );
}

function normaliseQuestion(question: string): string {
  return question.normalize('NFC').replace(/\r\n?/gu, '\n').trimEnd();
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
