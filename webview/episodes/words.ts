/** The words of the episodes panel. */
import { BY_HAND } from '../../src/domain/episode.ts';
import type { ProblemLayout, ShownProblem } from '../../src/shared/protocols/episodesProtocol.ts';
import { count, returnText } from '../common/format.ts';

/** How many problems are listed, of how many. */
export function listedWords({ rows, facets: { total } }: Pick<ProblemLayout, 'rows' | 'facets'>): string {
  const problems = total === 1 ? 'problem' : 'problems';
  return rows === total ? `${count(total)} ${problems}` : `${count(rows)} of ${count(total)} ${problems}`;
}

/** The mean of the scores by hand of a problem, and how many of them are returns. */
export function handWords({ handScore, handReturns }: ShownProblem): string {
  if (handScore === null) {
    return 'not scored by hand';
  }
  const returns = handReturns === 1 ? 'the return of an episode' : `returns of ${count(handReturns)} episodes`;
  return `${BY_HAND}: ${returnText(handScore)}, ${handReturns === 0 ? 'beside the return' : returns}`;
}
