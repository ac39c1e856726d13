/** Texts of the episodes panel. */

import { BY_HAND } from '../../src/domain/episode.ts';
import type { ProblemLayout, ShownProblem } from '../../src/shared/protocols/episodesProtocol.ts';
import { count, formatReturnValue } from '../common/format.ts';

/** Describes how many of the problems are listed. */
export function describeListedProblems({ rows, facets: { total } }: Pick<ProblemLayout, 'rows' | 'facets'>): string {
  const problems = total === 1 ? 'problem' : 'problems';
  return rows === total ? `${count(total)} ${problems}` : `${count(rows)} of ${count(total)} ${problems}`;
}

/** Describes the mean of a problem's scores by hand, and how many of them are returns. */
export function describeScoresByHand({ handScore, handReturns }: ShownProblem): string {
  if (handScore === null) {
    return 'not scored by hand';
  }
  const returns = handReturns === 1 ? 'the return of an episode' : `returns of ${count(handReturns)} episodes`;
  return `${BY_HAND}: ${formatReturnValue(handScore)}, ${handReturns === 0 ? 'beside the return' : returns}`;
}
