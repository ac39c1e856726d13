/**
 * What training and evaluation have in common: a question on both sides makes the accuracy say what was learned by
 * heart.
 */
import type { Problem } from '../domain/problem.ts';
import { C3Error } from '../shared/errors.ts';
import { splitFingerprint } from './uid.ts';

/** An evaluation problem and the training problem that it meets, by their uids. */
export interface SharedPair {
  readonly evaluation: string;
  readonly train: string;
}

export interface Shared {
  /** Evaluation problems concerned. */
  readonly count: number;
  /** The first of them, at most MAX_EXAMPLES. */
  readonly examples: readonly SharedPair[];
}

export interface OverlapReport {
  readonly train: { readonly instances: number; readonly fingerprint: string };
  readonly evaluation: { readonly instances: number; readonly fingerprint: string };
  /** The same question: equal uidSha. */
  readonly sameQuestion: Shared;
  /** Other bytes, but the same words: equal in NFKC without regard to case and whitespace. */
  readonly sameWords: Shared;
  /** Another question under the same uid; no question is shared by this alone. */
  readonly sameUid: Shared;
}

type Item = Pick<Problem, 'uid' | 'uidSha' | 'question'>;

export const MAX_EXAMPLES = 5;

/** Compares two sets of problems; each evaluation problem counts once, under the strongest of the three. */
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

/** The report in sentences; what is not there is not mentioned, but for the shared questions. */
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

/** @throws C3Error('input') with the counts and the first pair, where a question is shared */
export function refuseOverlap(report: OverlapReport): void {
  const overlap = overlapSentence(report);
  if (overlap !== null) {
    throw new C3Error('input', `${overlap}: ${WAYS_OUT}`);
  }
}

/** What to do about an overlap, after its sentence. */
export const WAYS_OUT = 'remove them from one side, or set task.refuse_overlap to false.';

/** The counts and the first pair, without a full stop; null where no question is shared. */
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

/** Uids come from outside: quoted, so that no line break reaches the sentence. */
function first({ examples: [pair] }: Shared): string {
  return pair === undefined
    ? ''
    : `, first ${JSON.stringify(pair.evaluation)} (training's ${JSON.stringify(pair.train)})`;
}

/** What two questions have in common that differ in case, whitespace or compatible characters only. */
export function questionWords(question: string): string {
  return question.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim();
}
