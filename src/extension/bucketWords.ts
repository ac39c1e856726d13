/** How buckets are put in words in the side bar. Signs and figures are those of the transcript. */
import * as figures from '../shared/figures.ts';
import type { Alternative, Credit } from '../shared/records.ts';
import { continuationWords, OTHER_DISTRIBUTION, ownWords } from '../shared/continuation.ts';
import { distanceOf, type BucketOrder, type RankedBucket } from '../shared/rankings.ts';
import { oneLine } from './runWords.ts';

/** What each order is called, and what it means. */
export const ORDERS: Readonly<Record<BucketOrder, { readonly label: string; readonly detail: string }>> = {
  credit: { label: 'Largest credit', detail: 'The message whose credit is furthest from 0, up or down, stands first.' },
  spread: { label: 'Spread of returns', detail: 'Where the returns of one context lie furthest apart (standard deviation).' },
  distance: { label: 'Replace against remove', detail: 'Where another message and no message at all say the most different things about what it was worth. Measured by replaying with an empty text.' },
};

const MINUS = '\u2212';

/** A number with its sign and two digits, as the transcript writes it. */
export function signed(value: number): string {
  return figures.signed(value, 2);
}

/** Who spoke and the figure that the bucket is ranked by, where it was measured: they are seen however narrow the side bar is. */
export function bucketLabel(ranked: RankedBucket, order: BucketOrder): string {
  return isMeasured(ranked, order) ? `${ranked.eventType} ${figureOf(ranked, order)}` : ranked.eventType;
}

/** What stands beside a bucket: what was said, what the figure rests on, and where it stands. */
export function bucketDescription(ranked: RankedBucket, order: BucketOrder): string {
  return [...(isMeasured(ranked, order) ? [] : [figureOf(ranked, order)]), ...(ranked.text === '' ? [] : [oneLine(ranked.text)]), ...basisOf(ranked, order), placeOf(ranked)].join(' · ');
}

/** The figure that a bucket is ranked by; what was not measured says so. */
export function figureOf({ credit, spread, removal }: RankedBucket, order: BucketOrder): string {
  switch (order) {
    case 'credit': return credit === null ? 'credit not measured' : signed(credit.value);
    case 'spread': return spread === null ? 'spread not measured' : `±${spread.toFixed(2)}`;
    case 'distance': return removal === null ? 'remove not measured' : `${distanceOf(removal).toFixed(2)} apart`;
  }
}

function isMeasured({ credit, spread, removal }: RankedBucket, order: BucketOrder): boolean {
  return { credit, spread, distance: removal }[order] !== null;
}

/** What the figure rests on. */
function basisOf({ credit, spread, returns, removal }: RankedBucket, order: BucketOrder): readonly string[] {
  switch (order) {
    case 'credit': return credit === null ? [] : [`n = ${String(credit.n)}`];
    case 'spread': return spread === null ? [] : [`${String(returns)} returns`];
    case 'distance': return removal === null ? [] : [`replace ${signed(removal.replace)}, remove ${signed(removal.remove)}`];
  }
}

/** Where a bucket comes from. */
export function placeOf({ origin, iteration, continuation }: Pick<RankedBucket, 'origin' | 'iteration' | 'continuation'>): string {
  if (origin === 'training') return `step ${String(iteration)}`;
  return origin === 'request' ? `replay ${String(iteration)}${continuation === null ? '' : `, ${OTHER_DISTRIBUTION}`}` : `diagnostic ${String(iteration)}`;
}

/** Everything that is known of a bucket, a line each. */
export function bucketTooltip(ranked: RankedBucket): string {
  const { credit, question, text, bucket, continuation } = ranked;
  const lines = [
    question.slice(0, 500), '', text, '',
    credit === null ? 'credit not measured' : creditWords(credit),
    spoken(ranked, 'spread'), spoken(ranked, 'distance'), `bucket ${String(bucket)}, ${placeOf({ ...ranked, continuation: null })}`,
    ...(continuation === null ? [] : [continuationWords(continuation), ownWords(continuation)]),
  ];
  return lines.join('\n');
}

/** A bucket for who hears it. */
export function bucketSpoken(ranked: RankedBucket, order: BucketOrder): string {
  const said = ranked.text === '' ? ranked.eventType : `${ranked.eventType}: ${oneLine(ranked.text)}`;
  return `${said}; ${spoken(ranked, order)}; ${placeOf(ranked)}`.replaceAll(MINUS, 'minus ');
}

function spoken(ranked: RankedBucket, order: BucketOrder): string {
  return `${ORDERS[order].label}: ${[figureOf(ranked, order).replace('±', ''), ...basisOf(ranked, order)].join(', ')}`;
}

/** Credit with its interval and its cost. */
export function creditWords({ value, low, high, n, evaluatorCalls, estimator }: Credit): string {
  const interval = low === null || high === null ? 'no interval' : `95 % ${signed(low)} to ${signed(high)}`;
  return `credit ${signed(value)} (${estimator}), ${interval}, n = ${String(n)}, ${String(evaluatorCalls)} evaluator ${evaluatorCalls === 1 ? 'call' : 'calls'}`;
}

/** What a message of a bucket was worth and returned. */
export function alternativeLabel({ credit, returns }: Alternative): string {
  const scored = returns.filter((value): value is number => value !== null);
  const mean = scored.length === 0 ? 'return not measured' : `return ${(scored.reduce((sum, value) => sum + value, 0) / scored.length).toFixed(2)}`;
  return `${credit === null ? 'credit not measured' : signed(credit.value)}, ${mean}`;
}

/** What stands beside that. */
export function alternativeDescription({ text, original }: Alternative): string {
  return `${original ? 'as it was said: ' : ''}${oneLine(text) || 'empty message'}`;
}
