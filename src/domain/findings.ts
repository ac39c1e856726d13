/** Findings that are kept as tests: what checking one comes to, and in words. Pure. */
import { signed } from '../shared/text/figures.ts';

/** How the name of the file of a finding ends. */
export const FINDING_FILE = '.finding.yaml';

/**
 * What the team's chance at the place of a finding is now, beside what it was. Held: within a tenth of the range.
 * Fixed: higher. Worse: lower. Undecided: the draws do not say.
 */
export const FINDING_VERDICTS = ['worse', 'undecided', 'held', 'fixed'] as const;
export type FindingVerdict = (typeof FINDING_VERDICTS)[number];
/** What a finding may expect. */
export const EXPECTATIONS = ['held', 'fixed'] as const;
export type Expectation = (typeof EXPECTATIONS)[number];

/** How often episodes are drawn from the place of a finding. */
export const FINDING_DRAWS = { least: 20, usual: 100, most: 1000 } as const;

/** A mean difference of returns, now less then, with its 95 % interval, which holds at every look. */
export interface FindingDifference {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Draws that both sides have. */
  readonly n: number;
}

/** What the draws of one side came to. */
export interface DrawnSide {
  /** The mean return. */
  readonly value: number;
  /** How many said the message of the finding. */
  readonly said: number;
}

/** What checking a finding came to. */
export interface CheckedFinding {
  /** As it was named. */
  readonly file: string;
  readonly title: string;
  readonly verdict: FindingVerdict;
  readonly expect: Expectation;
  /** Whether the verdict is as good as the finding expects; null for undecided. */
  readonly passed: boolean | null;
  readonly difference: FindingDifference | null;
  readonly then: DrawnSide | null;
  readonly now: DrawnSide | null;
  /** What is not as it was when the finding was kept, one clause each: weights, context, machine. */
  readonly differs: readonly string[];
  readonly evaluatorCalls: number;
  readonly sentence: string;
  /** Why it could not be checked; null where it was. */
  readonly error: string | null;
}

/** What keeping a message came to. */
export interface KeptFinding {
  /** Absolute path. */
  readonly file: string;
  readonly title: string;
  readonly evaluatorCalls: number;
  readonly sentence: string;
}

/** Whether a verdict is as good as what is expected; null where it is undecided. */
export const passes = (verdict: FindingVerdict, expect: Expectation): boolean | null =>
  verdict === 'undecided' ? null : FINDING_VERDICTS.indexOf(verdict) >= FINDING_VERDICTS.indexOf(expect);

const share = (value: number, most: number): string => `${String(Math.round((100 * value) / most))} %`;
const points = (value: number, most: number): string => signed((100 * value) / most, 0);

/** The outcome of a check in a sentence or two. @param most the highest return that there is */
export function checkSentence(
  { verdict, difference, then, now, differs }: Omit<CheckedFinding, 'sentence' | 'error' | 'file' | 'title'>,
  most: number,
): string {
  if (difference === null || then === null || now === null) {
    return 'Undecided: no draw could be scored.';
  }
  const { value, low, high, n } = difference;
  const name = `${verdict.slice(0, 1).toUpperCase()}${verdict.slice(1)}`;
  const fell = `the chance from here was ${share(then.value, most)} and is ${share(now.value, most)}`;
  const size = `${points(value, most)} points [${points(low, most)}, ${points(high, most)}] in ${String(n)} draws`;
  const message = ` Its message was said in ${String(then.said)} of them, and is in ${String(now.said)}.`;
  const others = differs.length === 0 ? '' : ` Other than then: ${differs.join('; ')}.`;
  return `${name}: ${fell}, ${size}.${message}${others}`;
}

/** All checks in one line. */
export function checksSentence(findings: readonly CheckedFinding[]): string {
  const failed = findings.filter(({ passed }) => passed === false).length;
  const broken = findings.filter(({ error }) => error !== null).length;
  const counts = FINDING_VERDICTS.toReversed().flatMap((verdict) => {
    const count = findings.filter((one) => one.verdict === verdict && one.error === null).length;
    return count === 0 ? [] : [`${String(count)} ${verdict}`];
  });
  const words = [...counts, ...(broken === 0 ? [] : [`${String(broken)} could not be checked`])].join(', ');
  return `${String(findings.length)} ${findings.length === 1 ? 'finding' : 'findings'}: ${words}.${failed === 0 ? '' : ` ${String(failed)} worse than expected.`}`;
}
