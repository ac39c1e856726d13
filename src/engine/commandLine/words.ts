/** Formats results for the terminal. */
import { ESTIMATE_WORDS, type MessageEstimate, type Interval } from '../../domain/credit.ts';
import type { Message } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import { continuationWords, ownWords, type Alternative, type BucketView } from '../../domain/replay.ts';
import type { Ledger, RunSummary, Tokens } from '../../domain/run.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import { sentence, type Headline } from '../../shared/credit/headline.ts';
import { oneLine } from '../../shared/text/oneLine.ts';

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Formats a share as `43.2 % [39.0, 47.5], n 512`, or `not measured`. */
export function proportion(interval: Interval | null): string {
  if (interval === null) {
    return 'not measured';
  }
  const bounds =
    interval.low === null || interval.high === null
      ? 'interval not measured'
      : `[${(100 * interval.low).toFixed(1)}, ${(100 * interval.high).toFixed(1)}]`;
  return `${percent(interval.value)} ${bounds}, n ${interval.n}`;
}

function points(interval: Interval | null): string {
  if (interval === null) {
    return 'not measured';
  }
  const signed = (value: number | null): string =>
    value === null ? '?' : `${value >= 0 ? '+' : ''}${(100 * value).toFixed(1)}`;
  return `${signed(interval.value)} points [${signed(interval.low)}, ${signed(interval.high)}]`;
}

export function creditWords(credit: Credit | Headline | null): string {
  if (credit === null) {
    return 'not measured';
  }
  if ('verdict' in credit && credit.verdict === 'alone') {
    return `not measured: ${sentence(credit)}`;
  }
  const signed = (value: number): string => `${value >= 0 ? '+' : ''}${value.toFixed(3)}`;
  const bounds =
    credit.low === null || credit.high === null ? 'no interval' : `[${signed(credit.low)}, ${signed(credit.high)}]`;
  return `${signed(credit.value)} ${bounds}, n ${credit.n}, ${credit.evaluatorCalls} calls${'verdict' in credit ? `, ${sentence(credit)}` : ''}`;
}

/** Formats calls that an interruption lost, which do not count as the run's own. */
function lostWords({ lostEvaluatorCalls = 0 }: RunSummary): string {
  return lostEvaluatorCalls === 0
    ? ''
    : `, and at most ${lostEvaluatorCalls} more whose results were lost in interruptions`;
}

/** Formats the results that were reused instead of calls. */
export function reusedWords({ reusedEvaluations = 0 }: Pick<Ledger, 'reusedEvaluations'>): string {
  return reusedEvaluations === 0 ? '' : `, and ${reusedEvaluations} results reused from equal messages`;
}

/** Formats the completion tokens that were reused instead of computed. */
export function takenWords({ reusedCompletion = 0 }: Tokens): string {
  return reusedCompletion === 0 ? '' : `, and ${reusedCompletion} reused from equal requests`;
}

/** Returns a row only if episodes were masked. */
function maskedRow({ maskedEpisodes = 0 }: RunSummary): [string, string][] {
  return maskedEpisodes === 0
    ? []
    : [['not scored', `${maskedEpisodes} episodes: the evaluator failed; they are not counted`]];
}

/** Returns rows only if an evaluation took several samples. */
function passAtKRows({ passAtK }: RunSummary): [string, string][] {
  return passAtK === undefined
    ? []
    : [
        [`pass@${passAtK.samples}`, `${proportion(passAtK.before)}  ->  ${proportion(passAtK.after)}`],
        ['  difference', points(passAtK.difference)],
      ];
}

export function summaryWords(summary: RunSummary): string {
  const { tokens, decisions } = summary;
  const rows: [string, string][] = [
    ['greedy accuracy', `${proportion(summary.accuracy.before)}  ->  ${proportion(summary.accuracy.after)}`],
    ['  difference', points(summary.accuracy.difference)],
    [
      summary.passAtK === undefined ? 'pass@1 (sampled)' : `avg@${summary.passAtK.samples} (pass@1)`,
      `${proportion(summary.passAt1.before)}  ->  ${proportion(summary.passAt1.after)}`,
    ],
    ['  difference', points(summary.passAt1.difference)],
    ...passAtKRows(summary),
    ['evaluator calls', `${summary.evaluatorCalls}${reusedWords(summary)}${lostWords(summary)}`],
    ...maskedRow(summary),
    [
      'tokens',
      `${tokens.prompt} prompt (${tokens.reused} reused), ${tokens.completion} completion${takenWords(tokens)}`,
    ],
    [
      'messages',
      Object.entries(decisions)
        .map(([role, count]) => `${role} ${count}`)
        .join(', '),
    ],
    ['training', `${summary.steps} steps in ${summary.seconds.toFixed(1)} s`],
    ['store', summary.store],
  ];
  return [
    `Run ${summary.run} (${summary.method}, seed ${summary.seed})`,
    ...rows.map(([name, value]) => `  ${name.padEnd(18)}${value}`),
  ].join('\n');
}

/** Formats a message's credit by each estimator, in one line each. */
export function estimateLines(estimates: readonly MessageEstimate[]): readonly string[] {
  return estimates.map(
    ({ name, credit, bucket, reason }) =>
      `  ${ESTIMATE_WORDS[name].label.toLowerCase().padEnd(12)}${credit === null ? `not measured: ${reason ?? ''}` : `${creditWords(credit)}${bucket === null ? '' : `, newest bucket ${bucket}`}`}`,
  );
}

/** Maximum characters of a question or a message in a finding. */
const SHOWN = 200;

type FoundAlternative = Pick<Alternative, 'text' | 'original' | 'returns' | 'credit'>;

/**
 * Formats one replayed message as a finding: the question, the message, the best alternative, and the
 * credit.
 * @param problem of the message's episode
 */
export function findingWords(
  problem: Pick<Problem, 'question' | 'answer' | 'tests'>,
  message: Pick<Message, 'id' | 'role' | 'text'>,
  alternatives: readonly FoundAlternative[],
): string {
  const { role, text } = message;
  const original = alternatives.find((alternative) => alternative.original);
  const best = alternatives
    .filter((alternative) => alternative.text !== text && meanReturn(alternative) !== null)
    .sort((a, b) => (meanReturn(b) ?? 0) - (meanReturn(a) ?? 0))[0];
  const returned = (alternative: FoundAlternative | undefined): string => {
    const mean = alternative === undefined ? null : meanReturn(alternative);
    return mean === null
      ? 'not scored'
      : `mean return ${mean.toFixed(2)} of ${alternative?.returns.filter((value) => value !== null).length ?? 0}`;
  };
  const rows: readonly (readonly [name: string, words: string])[] = [
    ['question', oneLine(problem.question, SHOWN)],
    ...(problem.tests === undefined ? [['expected', oneLine(problem.answer, SHOWN)] as const] : []),
    ['message', `${oneLine(text, SHOWN)}  (${returned(original)})`],
    [
      'instead',
      best === undefined
        ? 'all sampled alternatives are the same text'
        : `${oneLine(best.text, SHOWN)}  (${returned(best)})`,
    ],
    ['credit', creditWords(original?.credit ?? null)],
  ];
  const title = `What one message was worth: message ${message.id} by the ${role}, replayed in its exact context`;
  return [title, ...rows.map(([name, words]) => `  ${name.padEnd(10)}${words}`)].join('\n');
}

function meanReturn({ returns }: Pick<Alternative, 'returns'>): number | null {
  const scored = returns.filter((value) => value !== null);
  return scored.length === 0 ? null : scored.reduce((total, value) => total + value, 0) / scored.length;
}

/** Formats a message's alternatives, one line for each different text, which is shortened. */
export function bucketWords(message: Message, bucket: BucketView): string {
  const line = ([first, ...equal]: readonly Alternative[]): string => {
    if (first === undefined) {
      return '';
    }
    const times = equal.length === 0 ? '' : ` x${equal.length + 1}`;
    const returns = returnsWords([first, ...equal].map((one) => one.returns));
    return `  ${first.original ? '*' : ' '} ${`${oneLine(first.text, 40)}${times}`.padEnd(42)} returns ${returns.padEnd(10)} credit ${creditWords(first.credit)}`;
  };
  const equals = [
    ...Map.groupBy(
      bucket.alternatives,
      ({ original, text, finish }) => `${String(original)} ${finish} ${text}`,
    ).values(),
  ];
  const { continuation } = bucket;
  const other =
    continuation === null ? [] : [`These are of ${continuationWords(continuation)}. ${ownWords(continuation)}`];
  return [
    `Message ${message.id} by the ${message.role} and its alternatives from the same context (* is the message itself):`,
    ...other,
    ...equals.map(line),
  ].join('\n');
}

/** Maximum returns that are listed one by one. */
const LISTED_RETURNS = 16;

/**
 * Formats the returns of messages with equal texts: one list if all have the same returns, or else all
 * lists joined; only the mean if there are many.
 */
function returnsWords(all: readonly (readonly (number | null)[])[]): string {
  const write = (returns: readonly (number | null)[]): string =>
    returns.map((value) => (value === null ? 'masked' : String(value))).join(' ');
  const same = new Set(all.map(write)).size === 1 && (all[0]?.length ?? 0) > 1;
  const returns = same ? (all[0] ?? []) : all.flat();
  if (returns.length <= LISTED_RETURNS) {
    return write(returns);
  }
  return `mean ${meanReturn({ returns })?.toFixed(2) ?? 'masked'} of ${returns.length}`;
}
