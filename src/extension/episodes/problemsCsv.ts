/** The problems of a run as comma-separated values. */
import type { ShownProblem } from '../../shared/protocols/episodesProtocol.ts';
import { csvOf, type CsvValue } from '../../shared/text/csv.ts';

const CELLS: Readonly<Record<string, (row: ShownProblem) => CsvValue>> = {
  uid: ({ uid }) => uid,
  question: ({ question }) => question,
  source: ({ source }) => source,
  level: ({ level }) => level,
  greedyBefore: ({ greedyBefore }) => greedyBefore,
  sampledBefore: ({ sampledBefore }) => sampledBefore,
  greedyAfter: ({ greedyAfter }) => greedyAfter,
  sampledAfter: ({ sampledAfter }) => sampledAfter,
  meanReturn: ({ meanReturn }) => meanReturn,
  returns: ({ returns }) => returns,
  masked: ({ masked }) => masked,
  scoreByHand: ({ handScore }) => handScore,
  returnsByHand: ({ handReturns }) => handReturns,
  tags: ({ tags }) => tags.join(', '),
  role: ({ clearest }) => clearest?.role ?? null,
  credit: ({ clearest }) => clearest?.credit.value ?? null,
  creditLow: ({ clearest }) => clearest?.credit.low ?? null,
  creditHigh: ({ clearest }) => clearest?.credit.high ?? null,
  creditReturns: ({ clearest }) => clearest?.credit.n ?? null,
  verdict: ({ clearest }) => clearest?.credit.verdict ?? null,
  message: ({ clearest }) => clearest?.text ?? null,
  chance: ({ lost }) => lost?.start.value ?? null,
  chanceLow: ({ lost }) => lost?.start.low ?? null,
  chanceHigh: ({ lost }) => lost?.start.high ?? null,
  lostVerdict: ({ lost }) => lost?.verdict ?? null,
  lostBy: ({ lost }) => lost?.role ?? null,
  drop: ({ lost }) => lost?.drop ?? null,
  class: ({ problemClass }) => problemClass?.name ?? null,
  promptTokens: ({ tokens }) => tokens.prompt,
  reusedTokens: ({ tokens }) => tokens.reused,
  completionTokens: ({ tokens }) => tokens.completion,
  seconds: ({ seconds }) => seconds,
  evaluatorCalls: ({ evaluatorCalls }) => evaluatorCalls,
};

/** One line for each problem, in the order given; what was not measured is an empty cell. */
export function problemsCsv(rows: readonly ShownProblem[]): string {
  return csvOf(
    Object.keys(CELLS),
    rows.map((row) => Object.values(CELLS).map((cell) => cell(row))),
  );
}
