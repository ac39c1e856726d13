/** Claims of the C3 paper on its methods (section 5, Tables 1 and 2, Figure 4), compared with a set of runs. */

import { studentInterval } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';
import { compareMethods, readMeasure, type Budget, type MeasureName, type MethodRun } from './methodComparison.ts';

/** A claim of the paper, and the result here. */
export interface Claim {
  readonly task: string;
  readonly budget: Budget;
  /** A sentence. */
  readonly claim: string;
  /** held: the whole interval is on the claim's side. reversed: on the other. undecided: it contains 0. */
  readonly verdict: 'held' | 'reversed' | 'undecided' | 'not measured';
  /** The deciding numbers, in words. */
  readonly evidence: string;
}

type RunsOf = (method: string) => readonly MethodRun[];

/** Returns the paper's claims on one task; those on credit and tokens only at equal evaluator calls. */
export function checkClaims(task: string, budget: Budget, runsOf: RunsOf): Claim[] {
  const at = { task, budget };
  const more = (first: string, second: string, claim: string): Claim =>
    checkAgainstOthers(at, runsOf, { measure: 'pass1', better: second, others: [first], side: 1, claim });
  const others = ['magrpo', 'mappo', 'c3_no_replay', 'c3_full_mean'];
  const accuracy = [
    more('magrpo', 'c3', 'C3 is more accurate than MAGRPO.'),
    more('mappo', 'magrpo', 'MAGRPO is more accurate than MAPPO.'),
    more('sft', 'mappo', 'MAPPO is more accurate than SFT.'),
    more('c3_no_replay', 'c3', 'Without replay C3 is less accurate.'),
    more('c3_full_mean', 'c3', 'Without leave-one-out C3 is less accurate.'),
  ];
  return budget !== 'calls'
    ? accuracy
    : [
        ...accuracy,
        checkTokensClaim(at, runsOf),
        checkAgainstOthers(at, runsOf, {
          measure: 'fidelity',
          better: 'c3',
          others: ['magrpo', 'mappo'],
          side: 1,
          claim: 'C3 has the highest fidelity.',
        }),
        checkAgainstOthers(at, runsOf, {
          measure: 'variance',
          better: 'c3',
          others: ['magrpo', 'mappo'],
          side: -1,
          claim: 'C3 has the lowest within-context variance.',
        }),
        checkAgainstOthers(at, runsOf, {
          measure: 'influence',
          better: 'c3',
          others: ['sft', ...others],
          side: 1,
          claim: 'C3 has the highest influence.',
        }),
      ];
}

type Place = Pick<Claim, 'task' | 'budget'>;

interface Side {
  readonly measure: MeasureName;
  readonly better: string;
  readonly others: readonly string[];
  /** 1 if more is claimed, -1 if less is. */
  readonly side: 1 | -1;
  readonly claim: string;
}

/** Compares a method with others: held if against all of them, reversed if against any. */
function checkAgainstOthers(at: Place, runsOf: RunsOf, { measure, better, others, side, claim }: Side): Claim {
  const found = others.flatMap((other) => {
    const comparison = compareMethods(runsOf(other), runsOf(better), measure);
    return comparison === null ? [] : [{ other, difference: comparison.difference }];
  });
  const verdicts = found.map(({ difference }) => judgeSide(difference, 0, side));
  const verdict =
    found.length === 0
      ? 'not measured'
      : verdicts.includes('reversed')
        ? 'reversed'
        : verdicts.includes('undecided')
          ? 'undecided'
          : 'held';
  const evidence = found
    .map(({ other, difference }) => `${better} − ${other}: ${formatMeasureInterval(difference, measure)}`)
    .join('; ');
  return { ...at, claim, verdict, evidence: evidence === '' ? 'No seed has both.' : evidence };
}

/** Compares training tokens by their ratio, which is 0.59 to 0.69 in the paper. */
function checkTokensClaim(at: Place, runsOf: RunsOf): Claim {
  const claim = 'C3 trains with fewer tokens than MAGRPO (in the paper with about 0.6 of them).';
  const ratios = runsOf('c3').flatMap((run) =>
    runsOf('magrpo')
      .filter(({ seed }) => seed === run.seed)
      .flatMap((other) => {
        const [own, theirs] = [readMeasure(run, 'tokens'), readMeasure(other, 'tokens')];
        return own === null || theirs === null || theirs === 0 ? [] : [own / theirs];
      }),
  );
  const ratio = studentInterval(ratios);
  if (ratio === null) {
    return { ...at, claim, verdict: 'not measured', evidence: 'No seed has both.' };
  }
  return {
    ...at,
    claim,
    verdict: judgeSide(ratio, 1, -1),
    evidence: `tokens of c3 / tokens of magrpo: ${formatClaimBounds(ratio, (value) => value.toFixed(3))}`,
  };
}

function judgeSide({ low, high, value, n }: Interval, zero: number, side: 1 | -1): 'held' | 'reversed' | 'undecided' {
  // Equal differences in several seeds have no interval, and need none.
  const [from, to] = low === null || high === null ? (n > 1 ? [value, value] : [-Infinity, Infinity]) : [low, high];
  if (side === 1 ? from > zero : to < zero) {
    return 'held';
  }
  return (side === 1 ? to < zero : from > zero) ? 'reversed' : 'undecided';
}

const ACCURACIES: readonly MeasureName[] = ['greedy', 'pass1', 'pass10'];

function formatMeasureInterval(interval: Interval, measure: MeasureName): string {
  if (ACCURACIES.includes(measure)) {
    return `${formatClaimBounds(interval, (value) => (100 * value).toFixed(1))} points`;
  }
  return formatClaimBounds(interval, (value) => value.toPrecision(3));
}

const formatClaimBounds = ({ value, low, high }: Interval, write: (value: number) => string): string =>
  (low === null || high === null ? write(value) : `${write(value)} [${write(low)}, ${write(high)}]`).replaceAll(
    '-',
    '−',
  );
