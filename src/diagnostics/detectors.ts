/** Deterministic findings about one episode, in addition to the paper's classes, each with its evidence. */

import { BY_HAND } from '../domain/episode.ts';
import { gradeAnswer } from '../evaluate/answer.ts';
import { extractAnswer, tidyAnswer } from '../evaluate/math/extract.ts';

export const DETECTORS = [
  'no final answer',
  'malformed answer',
  'truncated',
  'plan ignored',
  'plan leaks the answer',
  'infrastructure failure',
] as const;
export type DetectorName = (typeof DETECTORS)[number];

export interface EpisodeMessage {
  readonly id: number;
  readonly role: string;
  readonly text: string;
  readonly finish: 'end' | 'length' | 'typed';
}

export interface DetectedEpisode {
  readonly question: string;
  readonly gold: string;
  /** From the root to the leaf. */
  readonly messages: readonly EpisodeMessage[];
  /** True if the messages are the votes of roles that do not see each other: each is an answer, and none is a plan. */
  readonly isVote: boolean;
  /** Null if the evaluator failed. */
  readonly return: number | null;
  /** The evaluator's rule. */
  readonly rule: string;
  /**
   * Final messages of stored replays of this episode's plan, by replay index: with the plan as it is,
   * and with an empty plan, on the same random numbers. Null if the plan was never replayed empty.
   */
  readonly emptied: readonly { readonly kept: string; readonly emptied: string }[] | null;
}

export interface Finding {
  readonly name: DetectorName;
  /** Null if not measured. */
  readonly present: boolean | null;
  /** The message that the finding is about. */
  readonly message: number;
  /** One sentence, with the reason if it was not measured. */
  readonly evidence: string;
}

/** Shorter answers occur in a plan by chance too often to count as a leak. */
const SHORTEST_LEAK = 3;
const SHOWN = 60;

/** Returns all findings about an episode in the order of DETECTORS; none without messages. */
export function detectFindings(episode: DetectedEpisode): Finding[] {
  const last = episode.messages.at(-1);
  if (last === undefined) {
    return [];
  }
  const plan = episode.messages.length > 1 && !episode.isVote ? episode.messages[0] : undefined;
  const answers = episode.isVote ? episode.messages : [last];
  const finding = (name: DetectorName, [present, evidence]: Judgement, message = last.id): Finding => ({
    name,
    present,
    message,
    evidence,
  });
  return [
    finding('no final answer', detectNoAnswer(episode, answers)),
    finding('malformed answer', detectMalformed(answers)),
    detectTruncated(episode.messages, last.id),
    finding('plan ignored', detectIgnoredPlan(episode, plan), plan?.id),
    finding('plan leaks the answer', detectPlanLeak(episode, plan), plan?.id),
    finding('infrastructure failure', [
      episode.return === null,
      episode.return === null
        ? `The evaluator failed (${episode.rule}); the episode has no return.`
        : episode.rule === BY_HAND
          ? 'The episode was scored by hand.'
          : 'The episode was scored.',
    ]),
  ];
}

type Judgement = readonly [present: boolean | null, evidence: string];

const NO_PLAN = 'Not measured: no message of the episode is a plan for another one.';

/** @param answers the last message, or all votes */
function detectNoAnswer({ rule, isVote }: DetectedEpisode, answers: readonly EpisodeMessage[]): Judgement {
  // Code is scored by its tests and states no answer.
  if (/test|assert|python/iu.test(rule)) {
    return [null, `Not measured: the evaluator (${rule}) reads no stated answer.`];
  }
  for (const { text } of answers) {
    const { answer, rule: where } = extractAnswer(text);
    if (answer !== null) {
      return [false, `The answer ${quoteEvidence(answer)} is at the ${where}.`];
    }
  }
  const where = `${isVote ? 'any vote, the last one ' : ''}${quoteEvidence(answers.at(-1)?.text ?? '')}`;
  return [true, `No marked answer (#### x, \\boxed{x}, "answer is x") in ${where}.`];
}

/** Detects an answer that cannot be read: a mark without content, or a box that is never closed. */
function detectMalformed(answers: readonly EpisodeMessage[]): Judgement {
  const marks = answers.map(({ text }) => examineMark(text));
  return marks.find(([present]) => present === true) ?? marks[0] ?? [false, 'No answer was begun.'];
}

function examineMark(text: string): Judgement {
  const line = text.slice(text.lastIndexOf('####') + 4).split('\n', 1)[0] ?? '';
  if (/####(?!#)/u.test(text) && tidyAnswer(line) === '') {
    return [true, 'The mark #### stands with nothing behind it.'];
  }
  const boxes = (text.match(/\\(?:boxed|fbox)\s?\{/gu) ?? []).length;
  if (boxes > 0 && extractAnswer(text).rule !== 'boxed' && extractAnswer(text).rule !== 'hash-line') {
    return [true, 'A \\boxed{ is empty, too long or never closed.'];
  }
  const { answer } = extractAnswer(text);
  return [false, answer === null ? 'No answer was begun.' : `The answer ${quoteEvidence(answer)} can be read.`];
}

function detectTruncated(messages: readonly EpisodeMessage[], last: number): Finding {
  const cut = messages.find(({ finish }) => finish === 'length');
  return {
    name: 'truncated',
    present: cut !== undefined,
    message: cut?.id ?? last,
    evidence:
      cut === undefined
        ? 'Every message came to its end.'
        : `The ${cut.role}'s message stops at its limit of tokens, after ${quoteEvidence(cut.text.slice(-SHOWN))}.`,
  };
}

function detectIgnoredPlan({ emptied }: DetectedEpisode, plan: EpisodeMessage | undefined): Judgement {
  if (plan === undefined) {
    return [null, NO_PLAN];
  }
  if (emptied === null || emptied.length === 0) {
    return [null, `Not measured: replay the plan with an empty text, \`c3 replay ${plan.id} --text ""\`.`];
  }
  const changed = emptied.findIndex(
    ({ kept, emptied: without }) => extractAnswerOrText(kept) !== extractAnswerOrText(without),
  );
  if (changed === -1) {
    return [
      true,
      `The answer stays the same in all ${emptied.length} replays when the plan is emptied, ${quoteEvidence(extractAnswerOrText(emptied[0]?.kept ?? ''))} in the first.`,
    ];
  }
  const { kept, emptied: without } = emptied[changed] ?? { kept: '', emptied: '' };
  return [
    false,
    `In replay ${changed} the answer ${quoteEvidence(extractAnswerOrText(kept))} becomes ${quoteEvidence(extractAnswerOrText(without))} when the plan is emptied.`,
  ];
}

function detectPlanLeak({ gold, question }: DetectedEpisode, plan: EpisodeMessage | undefined): Judgement {
  if (plan === undefined) {
    return [null, NO_PLAN];
  }
  if (gold.trim() === '') {
    return [null, 'Not measured: the problem has no answer.'];
  }
  const stated = extractAnswer(plan.text);
  if (stated.answer !== null && gradeAnswer(gold, plan.text).score === 1) {
    return [true, `The ${plan.role} states the answer ${quoteEvidence(stated.answer)} (${stated.rule}).`];
  }
  const expected = extractAnswer(gold).answer ?? gold.trim();
  if (expected.length >= SHORTEST_LEAK && containsWhole(expected, plan.text) && !containsWhole(expected, question)) {
    return [true, `The answer ${quoteEvidence(expected)} is in the ${plan.role}'s message and not in the question.`];
  }
  return [false, `The ${plan.role}'s message does not hold the answer.`];
}

/** Returns true if a text contains another as a whole, not as a part of a longer number or word. */
function containsWhole(part: string, text: string): boolean {
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) {
    const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(at + part.length, at + part.length + 2)];
    if (!/[\p{L}\p{N}]$|\d[.,]$/u.test(before) && !/^[\p{L}\p{N}]|^[.,]\d/u.test(after)) {
      return true;
    }
  }
  return false;
}

function extractAnswerOrText(text: string): string {
  return extractAnswer(text).answer ?? text.trim();
}

function quoteEvidence(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return JSON.stringify(line.length > SHOWN ? `${line.slice(0, SHOWN - 1)}…` : line);
}
