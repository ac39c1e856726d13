/** The overlap of training and evaluation: accuracy on a question that is on both sides measures memorization. */

import type { Problem } from '../domain/problem.ts';
import { C3Error } from '../shared/errors.ts';
import { splitFingerprint } from './uid.ts';

/** An evaluation problem and the matching training problem, by their uids. */
export interface SharedPair {
  readonly evaluation: string;
  readonly train: string;
}

export interface Shared {
  /** Number of affected evaluation problems. */
  readonly count: number;
  /** The first of them, at most MAX_EXAMPLES. */
  readonly examples: readonly SharedPair[];
}

export interface OverlapReport {
  readonly train: { readonly instances: number; readonly fingerprint: string };
  readonly evaluation: { readonly instances: number; readonly fingerprint: string };
  /** The same question: equal uidSha. */
  readonly sameQuestion: Shared;
  /** Other bytes, but the same words: equal in NFKC, ignoring case and whitespace. */
  readonly sameWords: Shared;
  /** Another question with the same uid; this alone does not share a question. */
  readonly sameUid: Shared;
}

type Item = Pick<Problem, 'uid' | 'uidSha' | 'question'>;

export const MAX_EXAMPLES = 5;

/** Compares two sets of problems; each evaluation problem counts once, by its strongest match. */
export function overlapReport(train: readonly Item[], evaluation: readonly Item[]): OverlapReport {
  const byQuestion = new Map(train.map((item) => [item.uidSha, item.uid]));
  const byWords = new Map(train.map((item) => [questionWords(item.question), item.uid]));
  const uids = new Set(train.map((item) => item.uid));
  const found: Record<'question' | 'words' | 'uid', SharedPair[]> = { question: [], words: [], uid: [] };
  for (const { uid, uidSha, question } of evaluation) {
    const sameQuestion = byQuestion.get(uidSha);
    const sameWords = sameQuestion ?? byWords.get(questionWords(question));
    if (sameQuestion !== undefined) {
      found.question.push({ evaluation: uid, train: sameQuestion });
    } else if (sameWords !== undefined) {
      found.words.push({ evaluation: uid, train: sameWords });
    } else if (uids.has(uid)) {
      found.uid.push({ evaluation: uid, train: uid });
    }
  }
  const side = (items: readonly Item[]): OverlapReport['train'] => ({
    instances: items.length,
    fingerprint: splitFingerprint(items.map((item) => item.uidSha)),
  });
  return {
    train: side(train),
    evaluation: side(evaluation),
    sameQuestion: shared(found.question),
    sameWords: shared(found.words),
    sameUid: shared(found.uid),
  };
}

/** Describes the report in sentences. Counts of 0 are not mentioned, except for shared questions. */
export function describeOverlap({ train, evaluation, sameQuestion, sameWords, sameUid }: OverlapReport): string[] {
  const of = `of ${evaluation.instances} evaluation questions`;
  return [
    `Split: ${train.instances} training problems (${train.fingerprint.slice(0, 16)}), ${evaluation.instances} evaluation problems (${evaluation.fingerprint.slice(0, 16)}).`,
    ...(sameQuestion.count > 0 || sameWords.count === 0
      ? [`${sameQuestion.count} ${of} are also trained on${first(sameQuestion)}.`]
      : []),
    ...(sameWords.count > 0
      ? [`${sameWords.count} ${of} are trained on in the same words, but for case and whitespace${first(sameWords)}.`]
      : []),
    ...(sameUid.count > 0
      ? [`${sameUid.count} ${of} have the uid of another training question${first(sameUid)}.`]
      : []),
  ];
}

/** Checks that no question is shared. @throws C3Error('input') with the counts and first pair */
export function refuseOverlap(report: OverlapReport): void {
  const overlap = overlapSentence(report);
  if (overlap !== null) {
    throw new C3Error('input', `${overlap}: ${WAYS_OUT}`);
  }
}

/** The advice about an overlap, after its sentence. */
export const WAYS_OUT = 'remove them from one side, or set task.refuse_overlap to false.';

/** Describes the counts and the first pair, without a full stop; null if no question is shared. */
export function overlapSentence({ evaluation, sameQuestion, sameWords }: OverlapReport): string | null {
  const worst = sameQuestion.count > 0 ? sameQuestion : sameWords;
  if (worst.count === 0) {
    return null;
  }
  const folded = sameWords.count === 0 ? '' : ` (${sameWords.count} of them differing in case or whitespace only)`;
  const shared = sameQuestion.count + sameWords.count;
  return `${shared} of ${evaluation.instances} evaluation questions are also trained on${folded}${first(worst)}`;
}

function shared(pairs: readonly SharedPair[]): Shared {
  return { count: pairs.length, examples: pairs.slice(0, MAX_EXAMPLES) };
}

/** Formats the first pair, with quotes that keep line breaks in foreign uids out of the text. */
function first({ examples: [pair] }: Shared): string {
  return pair === undefined
    ? ''
    : `, first ${JSON.stringify(pair.evaluation)} (training's ${JSON.stringify(pair.train)})`;
}

/**
 * Returns a form of the question that is equal for questions that differ only in case, whitespace or
 * compatible characters.
 */
export function questionWords(question: string): string {
  return question.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim();
}
