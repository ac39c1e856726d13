/** Formats buckets for the side bar, with the same signs and figures as the transcript. */

import {
  describeOtherContinuation,
  OTHER_DISTRIBUTION,
  describeOwnContinuation,
  measureDisagreement,
  type Alternative,
  type BucketFilter,
  type BucketKind,
  type BucketOrder,
  type RankedBucket,
} from '../../domain/replay.ts';
import { isDecided, describeHeadline, type Headline } from '../../shared/credit/headline.ts';
import * as figures from '../../shared/text/figures.ts';
import { oneLine } from '../common/oneLine.ts';

/** Names and explanations of the orders. */
export const ORDERS: Readonly<Record<BucketOrder, { readonly label: string; readonly detail: string }>> = {
  clearest: {
    label: 'Clearest credit',
    detail:
      'Messages with a decided credit come first, then the others, each by the size of the credit relative to the width of its interval.',
  },
  credit: { label: 'Largest credit', detail: 'The message whose credit is furthest from 0, up or down, comes first.' },
  spread: {
    label: 'Spread of returns',
    detail: 'The contexts whose returns differ most come first (standard deviation).',
  },
  distance: {
    label: 'Replace against remove',
    detail:
      'The messages for which replacing and removing give the most different credit come first. Measured by replaying an empty message.',
  },
};

const ORIGINS: Readonly<Record<BucketKind['origin'], string>> = {
  training: 'training',
  request: 'replays',
  diagnostic: 'diagnostics',
};
const CREDIT: Readonly<Record<BucketKind['credit'], string>> = {
  measured: 'credit measured',
  'not measured': 'credit not measured',
};

/** A value that buckets can be filtered by. */
export interface BucketChoice {
  readonly label: string;
  /** Number of the run's buckets with this value. */
  readonly count: number;
  isIn(filter: BucketFilter): boolean;
  addTo(filter: BucketFilter): BucketFilter;
}

/** Returns the filter choices of a run, with only the values that occur in it. */
export function listBucketChoices(
  kinds: readonly BucketKind[],
): readonly { readonly title: string; readonly choices: readonly BucketChoice[] }[] {
  const having = (test: (kind: BucketKind) => boolean): number =>
    kinds.filter(test).reduce((sum, { count }) => sum + count, 0);
  const distinct = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
  return [
    {
      title: 'Role',
      choices: distinct(kinds.map(({ role }) => role)).map((role) => ({
        label: role,
        count: having((kind) => kind.role === role),
        isIn: ({ roles }) => roles.includes(role),
        addTo: (filter) => ({ ...filter, roles: [...filter.roles, role] }),
      })),
    },
    {
      title: 'Origin',
      choices: distinct(kinds.map(({ origin }) => origin)).map((origin) => ({
        label: ORIGINS[origin],
        count: having((kind) => kind.origin === origin),
        isIn: ({ origins }) => origins.includes(origin),
        addTo: (filter) => ({ ...filter, origins: [...filter.origins, origin] }),
      })),
    },
    {
      title: 'Credit',
      choices: distinct(kinds.map(({ credit }) => credit)).map((credit) => ({
        label: CREDIT[credit],
        count: having((kind) => kind.credit === credit),
        isIn: (filter) => filter.credit.includes(credit),
        addTo: (filter) => ({ ...filter, credit: [...filter.credit, credit] }),
      })),
    },
  ];
}

/** Formats a filter for the description of the view. Returns an empty text if it hides nothing. */
export function formatBucketFilter({ roles, origins, credit }: BucketFilter): string {
  return [...roles, ...origins.map((origin) => ORIGINS[origin]), ...credit.map((value) => CREDIT[value])].join(', ');
}

const MINUS = '\u2212';

/** Formats a number with its sign and two digits, as the transcript does. */
export function formatSignedCredit(value: number): string {
  return figures.formatSigned(value, 2);
}

/** Formats the role and, if measured, the figure of the order. Both stay visible in a narrow side bar. */
export function formatBucketLabel(ranked: RankedBucket, order: BucketOrder): string {
  return hasMeasuredFigure(ranked, order) ? `${ranked.role} ${formatBucketFigure(ranked, order)}` : ranked.role;
}

/** Formats the text beside a bucket: its message, the basis of the figure, and its origin. */
export function formatBucketDescription(ranked: RankedBucket, order: BucketOrder): string {
  return [
    ...(hasMeasuredFigure(ranked, order) ? [] : [formatBucketFigure(ranked, order)]),
    ...(ranked.text === '' ? [] : [oneLine(ranked.text)]),
    ...describeFigureBasis(ranked, order),
    describeBucketOrigin(ranked),
  ].join(' · ');
}

/** Formats the figure by which a bucket is ranked, or says that it was not measured. */
export function formatBucketFigure({ credit, spread, removal }: RankedBucket, order: BucketOrder): string {
  switch (order) {
    case 'clearest':
    case 'credit':
      return credit === null
        ? 'credit not measured'
        : credit.verdict === 'alone'
          ? describeHeadline(credit)
          : formatSignedCredit(credit.value);
    case 'spread':
      return spread === null ? 'spread not measured' : `±${spread.toFixed(2)}`;
    case 'distance':
      return removal === null ? 'remove not measured' : `${measureDisagreement(removal).toFixed(2)} apart`;
  }
}

function hasMeasuredFigure({ credit, spread, removal }: RankedBucket, order: BucketOrder): boolean {
  const measured = credit?.verdict === 'alone' ? null : credit;
  return { clearest: measured, credit: measured, spread, distance: removal }[order] !== null;
}

/** Describes the basis of the figure. */
function describeFigureBasis(
  { credit, spread, returns, removal }: RankedBucket,
  order: BucketOrder,
): readonly string[] {
  switch (order) {
    case 'clearest':
      return credit === null || credit.verdict === 'alone'
        ? []
        : [isDecided(credit) ? describeHeadline(credit) : 'undecided', `n = ${credit.n}`];
    case 'credit':
      return credit === null || credit.verdict === 'alone' ? [] : [`n = ${credit.n}`];
    case 'spread':
      return spread === null ? [] : [`${returns} returns`];
    case 'distance':
      return removal === null
        ? []
        : [`replace ${formatSignedCredit(removal.replace)}, remove ${formatSignedCredit(removal.remove)}`];
  }
}

/** Describes the origin of a bucket. */
export function describeBucketOrigin({
  origin,
  iteration,
  continuation,
}: Pick<RankedBucket, 'origin' | 'iteration' | 'continuation'>): string {
  if (origin === 'training') {
    return `step ${iteration}`;
  }
  return origin === 'request'
    ? `replay ${iteration}${continuation === null ? '' : `, ${OTHER_DISTRIBUTION}`}`
    : `diagnostic ${iteration}`;
}

/** Formats all that is known of a bucket, one fact a line. */
export function formatBucketTooltip(ranked: RankedBucket): string {
  const { credit, question, text, bucket, continuation } = ranked;
  const lines = [
    question.slice(0, 500),
    '',
    text,
    '',
    credit === null ? 'credit not measured' : describeCredit(credit),
    formatSpokenFigure(ranked, 'spread'),
    formatSpokenFigure(ranked, 'distance'),
    `bucket ${bucket}, ${describeBucketOrigin({ ...ranked, continuation: null })}`,
    ...(continuation === null ? [] : [describeOtherContinuation(continuation), describeOwnContinuation(continuation)]),
  ];
  return lines.join('\n');
}

/** Describes a bucket for screen readers. */
export function formatSpokenBucket(ranked: RankedBucket, order: BucketOrder): string {
  const said = ranked.text === '' ? ranked.role : `${ranked.role}: ${oneLine(ranked.text)}`;
  return `${said}; ${formatSpokenFigure(ranked, order)}; ${describeBucketOrigin(ranked)}`.replaceAll(MINUS, 'minus ');
}

function formatSpokenFigure(ranked: RankedBucket, order: BucketOrder): string {
  return `${ORDERS[order].label}: ${[formatBucketFigure(ranked, order).replace('±', ''), ...describeFigureBasis(ranked, order)].join(', ')}`;
}

/** Formats a credit with its interval, verdict, sample size and cost. */
export function describeCredit(credit: Headline): string {
  const { value, low, high, n, effectiveN, evaluatorCalls, verdict } = credit;
  if (verdict === 'alone') {
    return `credit not measured: ${describeHeadline(credit)}`;
  }
  const interval =
    low === null || high === null ? 'no interval' : `95 % ${formatSignedCredit(low)} to ${formatSignedCredit(high)}`;
  const cost = `${evaluatorCalls} evaluator ${evaluatorCalls === 1 ? 'call' : 'calls'}`;
  return `credit ${formatSignedCredit(value)}, ${interval}, ${describeHeadline(credit)}, n = ${n} (${effectiveN} independent), ${cost}`;
}

/** Formats the credit and the mean return of a message of a bucket. */
export function formatAlternativeLabel({ credit, returns }: Alternative): string {
  const scored = returns.filter((value): value is number => value !== null);
  const mean =
    scored.length === 0
      ? 'return not measured'
      : `return ${(scored.reduce((sum, value) => sum + value, 0) / scored.length).toFixed(2)}`;
  return `${credit === null || credit.verdict === 'alone' ? 'credit not measured' : formatSignedCredit(credit.value)}, ${mean}`;
}

/** Formats the text beside that label. @param copies number of messages with the same text */
export function formatAlternativeDescription({ text, original }: Alternative, copies = 1): string {
  const said = [...(original ? ['as sampled'] : []), ...(copies > 1 ? [`said ${copies} times`] : [])];
  return `${said.length === 0 ? '' : `${said.join(', ')}: `}${oneLine(text) || 'empty message'}`;
}
