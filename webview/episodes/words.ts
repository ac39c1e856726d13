/** The words of the episodes panel. */
import type { ProblemLayout } from '../../src/shared/protocols/episodesProtocol.ts';
import { count } from '../common/format.ts';

/** How many problems are listed, of how many. */
export function listedWords({ rows, facets: { total } }: Pick<ProblemLayout, 'rows' | 'facets'>): string {
  const problems = total === 1 ? 'problem' : 'problems';
  return rows === total ? `${count(total)} ${problems}` : `${count(rows)} of ${count(total)} ${problems}`;
}
