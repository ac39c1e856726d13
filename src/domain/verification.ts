/** Results of re-executing stored replays: the sentences in the store, and the mark that summarizes several of them. */

export type VerificationResult = 'identical' | 'different' | 'notComparable';

/** The result of re-executing the replays of a message, in words. */
export interface VerificationMark {
  readonly state: VerificationResult | 'unverified';
  /**
   * A few words: `identical`, `differs at token 5`, `return differs`, `row changed`, `event differs`,
   * `not comparable`, `not verified yet`.
   */
  readonly label: string;
  /** The reason, in one sentence. */
  readonly detail: string;
}

/** Returns of one context or one message: the stored ones, and those from sampling it again. */
export interface ReturnSamples {
  readonly stored: readonly number[];
  readonly again: readonly number[];
}

/** Two samples of returns, compared within each context. */
export interface ReturnComparison {
  /** Returns of each sample. */
  readonly n: { readonly stored: number; readonly again: number };
  readonly mean: { readonly stored: number; readonly again: number };
  /**
   * Again minus stored, within contexts weighted by their returns, with its 95 % interval; null bounds
   * without spread.
   */
  readonly difference: { readonly value: number; readonly low: number | null; readonly high: number | null };
  /** P-value of a two-sided permutation test within contexts; small if the distribution has changed. */
  readonly p: number;
}

/** The result of re-executing a set of replays. */
export interface VerificationReport {
  readonly checked: number;
  readonly identical: number;
  readonly different: number;
  readonly notComparable: number;
  /** The first difference in the order of the replays. `token` is null if no token differs. */
  readonly firstDifference: {
    readonly replay: number;
    readonly message: number;
    readonly token: number | null;
    readonly detail: string;
  } | null;
  /** The reason for the first replay that could not be compared, or null if all could. */
  readonly firstReason: string | null;
  /**
   * Comparison for replays that no seed reproduces: their returns, and those of equally many that were
   * sampled again. Absent if there are none, or none was sampled again.
   */
  readonly returns?: ReturnComparison;
}

/** A difference as data: tokens or their probabilities, the return, a stored row, or an event. */
export type Difference =
  | { readonly kind: 'token'; readonly token: number }
  | { readonly kind: 'return' }
  | { readonly kind: 'row' }
  | { readonly kind: 'event' };

/** One replay's newest verification. `result` is null while it was not re-executed. */
export interface Verdict {
  readonly result: VerificationResult | null;
  /** One sentence for readers; empty if there is nothing to add. */
  readonly detail: string;
  /** Null if nothing differs, or if an earlier version verified it. */
  readonly difference: Difference | null;
}

const RETURN_DIFFERS = 'return differs';
const ROW_CHANGED = ': the row was changed';

/** Describes a message that came out with another token. Tokens count from 0. */
export function describeTokenDifference(message: number, token: number): string {
  return `message ${message} differs at token ${token}`;
}

/** Describes a message with the same tokens but other probabilities. */
export function describeProbabilityDifference(message: number, token: number): string {
  return `${describeTokenDifference(message, token)} in its log-probability`;
}

/** Describes a return that differs from the score of the stored messages; null is masked. */
export function describeReturnDifference(stored: number | null, found: number | null): string {
  const words = (value: number | null): string => (value === null ? 'masked' : String(value));
  return `${RETURN_DIFFERS}: ${words(stored)} is stored, the evaluator says ${words(found)} of the stored messages`;
}

/** Describes a row that differs from the row that was appended. */
export function describeChangedRow(what: string): string {
  return `${what}${ROW_CHANGED}`;
}

/**
 * Summarizes the verdicts on the replays of one message. A difference takes precedence, then a replay
 * that could not be compared, then a replay that was not re-executed.
 * @returns null if there are no replays
 */
export function summarizeVerdicts(verdicts: readonly Verdict[]): VerificationMark | null {
  if (verdicts.length === 0) {
    return null;
  }
  const of = (result: VerificationResult | null): readonly Verdict[] =>
    verdicts.filter((verdict) => verdict.result === result);
  const [different, notComparable, unverified] = [of('different'), of('notComparable'), of(null)];
  const share = (some: readonly Verdict[]): string =>
    verdicts.length === 1 ? '' : ` (${some.length} of ${verdicts.length} replays)`;
  if (different[0] !== undefined) {
    return {
      state: 'different',
      label: labelDifference(different[0]),
      detail: `${different[0].detail}${share(different)}`,
    };
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

/** Describes the comparison of returns that were sampled again in one sentence. */
function describeReturnComparison({ n, mean, difference: { value, low, high }, p }: ReturnComparison): string {
  const digits = (number: number): string => number.toFixed(3);
  const interval = low === null || high === null ? '' : ` [${digits(low)}, ${digits(high)}]`;
  const verdict = p < 0.05 ? 'the returns have changed' : 'no difference of the returns was found';
  return `sampled, not exact, so returns were compared instead: mean ${digits(mean.stored)} stored (n ${n.stored}), ${digits(mean.again)} sampled again (n ${n.again}), difference ${digits(value)}${interval}, p ${p.toPrecision(2)} by permutation: ${verdict}`;
}

/** Describes a report in one line. */
export function describeReport(
  of: string,
  { checked, identical, different, notComparable, firstDifference, firstReason, returns }: VerificationReport,
): string {
  const counts = `${checked} ${checked === 1 ? 'replay' : 'replays'} of ${of} re-executed: ${identical} identical, ${different} different, ${notComparable} not comparable`;
  return [
    counts,
    ...(firstDifference === null ? [] : [`first difference: ${firstDifference.detail}`]),
    ...(firstReason === null ? [] : [`not comparable because: ${firstReason}`]),
    ...(returns === undefined ? [] : [describeReturnComparison(returns)]),
  ].join('; ');
}

const TOKEN = /(?:^|; )message \d+ differs at token (\d+)(?: in its log-probability)?(?:;|$)/u;

/**
 * Parses the difference from the sentence of an earlier version, which stored nothing else. No other
 * code parses a detail.
 * @returns null for a sentence of another form
 */
export function parseEarlierDifference(detail: string): Difference | null {
  const token = TOKEN.exec(detail)?.[1];
  if (token !== undefined) {
    return { kind: 'token', token: Number(token) };
  }
  if (detail.startsWith(`${RETURN_DIFFERS}: `)) {
    return { kind: 'return' };
  }
  return detail.endsWith(ROW_CHANGED) ? { kind: 'row' } : null;
}

/** Describes a difference in a few words. */
function labelDifference({ detail, difference }: Verdict): string {
  const known = difference ?? parseEarlierDifference(detail);
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
