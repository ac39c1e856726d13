/**
 * What re-executing stored replays showed: the sentences that the store keeps, and the mark that sums several of them
 * up.
 */

export type VerificationResult = 'identical' | 'different' | 'notComparable';

/** What re-executing the replays of a message showed, in words. */
export interface VerificationMark {
  readonly state: VerificationResult | 'unverified';
  /**
   * A few words: `identical`, `differs at token 5`, `return differs`, `row changed`, `event differs`, `not
   * comparable`, `not verified yet`.
   */
  readonly label: string;
  /** The reason, in one sentence. */
  readonly detail: string;
}

/** Returns of one context or one message: those that are stored, and those that came when it was sampled again. */
export interface ReturnSamples {
  readonly stored: readonly number[];
  readonly again: readonly number[];
}

/** Two samples of returns, compared within each context. */
export interface ReturnComparison {
  /** Returns of each sample. */
  readonly n: { readonly stored: number; readonly again: number };
  readonly mean: { readonly stored: number; readonly again: number };
  /** Again less stored, within contexts weighted by their returns; with its 95 % interval, null without spread. */
  readonly difference: { readonly value: number; readonly low: number | null; readonly high: number | null };
  /** Of a two-sided permutation test within contexts; small where the distribution has changed. */
  readonly p: number;
}

/** What re-executing a set of replays showed. */
export interface VerificationReport {
  readonly checked: number;
  readonly identical: number;
  readonly different: number;
  readonly notComparable: number;
  /** The first difference in the order of the replays; the token is null where it is not one of a token. */
  readonly firstDifference: {
    readonly replay: number;
    readonly message: number;
    readonly token: number | null;
    readonly detail: string;
  } | null;
  /** Why the first that could not be compared could not; null where all could. */
  readonly firstReason: string | null;
  /**
   * Of the replays that no seed gives again: their returns beside those of as many that were sampled again. Absent
   * where there are none, or none was sampled again.
   */
  readonly returns?: ReturnComparison;
}

/** What differed, as programs know it: tokens or their probabilities, the return, a stored row, or an event. */
export type Difference =
  | { readonly kind: 'token'; readonly token: number }
  | { readonly kind: 'return' }
  | { readonly kind: 'row' }
  | { readonly kind: 'event' };

/** One replay's newest verification; null while it was not re-executed. */
export interface Verdict {
  readonly result: VerificationResult | null;
  /** One sentence, for readers; empty where there is nothing to add. */
  readonly detail: string;
  /** Null where nothing differs, and where an earlier version verified it. */
  readonly difference: Difference | null;
}

const RETURN_DIFFERS = 'return differs';
const ROW_CHANGED = ': the row was changed';

/** A message that came out with another token; tokens count from 0. */
export function tokenDifference(message: number, token: number): string {
  return `message ${message} differs at token ${token}`;
}

/** A message whose tokens are the same and whose probabilities are not. */
export function probabilityDifference(message: number, token: number): string {
  return `${tokenDifference(message, token)} in its log-probability`;
}

/** A replay whose return is not what the evaluator says of its stored messages; null is a masked return. */
export function returnDifference(stored: number | null, found: number | null): string {
  const words = (value: number | null): string => (value === null ? 'masked' : String(value));
  return `${RETURN_DIFFERS}: ${words(stored)} is stored, the evaluator says ${words(found)} of the stored messages`;
}

/** A row that no longer is what was appended. */
export function changedRow(what: string): string {
  return `${what}${ROW_CHANGED}`;
}

/**
 * Sums up the verdicts on the replays of one message: a difference first, then what could not be compared, then what is
 * still to be done.
 * @returns null where there is no replay
 */
export function markOf(verdicts: readonly Verdict[]): VerificationMark | null {
  if (verdicts.length === 0) {
    return null;
  }
  const of = (result: VerificationResult | null): readonly Verdict[] =>
    verdicts.filter((verdict) => verdict.result === result);
  const [different, notComparable, unverified] = [of('different'), of('notComparable'), of(null)];
  const share = (some: readonly Verdict[]): string =>
    verdicts.length === 1 ? '' : ` (${some.length} of ${verdicts.length} replays)`;
  if (different[0] !== undefined) {
    return { state: 'different', label: labelOf(different[0]), detail: `${different[0].detail}${share(different)}` };
  }
  if (notComparable[0] !== undefined) {
    return {
      state: 'notComparable',
      label: 'not comparable',
      detail: `${notComparable[0].detail}${share(notComparable)}`,
    };
  }
  if (unverified.length > 0) {
    return { state: 'unverified', label: 'not verified yet', detail: `not re-executed yet${share(unverified)}` };
  }
  return { state: 'identical', label: 'identical', detail: `re-execution gave the same bytes${share(verdicts)}` };
}

/** What sampling again showed, in one sentence. */
function returnsWords({ n, mean, difference: { value, low, high }, p }: ReturnComparison): string {
  const digits = (number: number): string => number.toFixed(3);
  const interval = low === null || high === null ? '' : ` [${digits(low)}, ${digits(high)}]`;
  const verdict = p < 0.05 ? 'the returns have changed' : 'no difference of the returns was found';
  return `sampled, not exact, so returns were compared instead: mean ${digits(mean.stored)} stored (n ${n.stored}), ${digits(mean.again)} sampled again (n ${n.again}), difference ${digits(value)}${interval}, p ${p.toPrecision(2)} by permutation: ${verdict}`;
}

/** What re-execution showed, in one line. */
export function reportWords(
  of: string,
  { checked, identical, different, notComparable, firstDifference, firstReason, returns }: VerificationReport,
): string {
  const counts = `${checked} ${checked === 1 ? 'replay' : 'replays'} of ${of} re-executed: ${identical} identical, ${different} different, ${notComparable} not comparable`;
  return [
    counts,
    ...(firstDifference === null ? [] : [`first difference: ${firstDifference.detail}`]),
    ...(firstReason === null ? [] : [`not comparable because: ${firstReason}`]),
    ...(returns === undefined ? [] : [returnsWords(returns)]),
  ].join('; ');
}

const TOKEN = /(?:^|; )message \d+ differs at token (\d+)(?: in its log-probability)?(?:;|$)/u;

/**
 * The difference that a verification of an earlier version found: such versions kept its sentence only. Nothing else
 * reads a detail.
 * @returns null for a sentence of another form
 */
export function earlierDifference(detail: string): Difference | null {
  const token = TOKEN.exec(detail)?.[1];
  if (token !== undefined) {
    return { kind: 'token', token: Number(token) };
  }
  if (detail.startsWith(`${RETURN_DIFFERS}: `)) {
    return { kind: 'return' };
  }
  return detail.endsWith(ROW_CHANGED) ? { kind: 'row' } : null;
}

/** The few words of a difference. */
function labelOf({ detail, difference }: Verdict): string {
  const known = difference ?? earlierDifference(detail);
  switch (known?.kind) {
    case 'token':
      return `differs at token ${known.token}`;
    case 'return':
      return RETURN_DIFFERS;
    case 'row':
      return 'row changed';
    case 'event':
      return 'event differs';
    case undefined:
      return 'different';
  }
}
