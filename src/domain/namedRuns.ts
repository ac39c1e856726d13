/** The earlier runs that a run's configuration names: those whose weights it begins with or is answered by. */
import { isRecord } from '../shared/guard.ts';
import { sectionOf, storedConfig } from './storedRecipe.ts';

/** @param config as the store keeps it */
export function namedRuns(config: string): readonly string[] {
  const run = storedConfig(config);
  const begin = sectionOf(run, 'begin');
  const places = [begin, sectionOf(sectionOf(begin, 'replace'), 'from'), ...Object.values(sectionOf(run, 'policies'))];
  return places.flatMap((place) => (isRecord(place) && typeof place['run'] === 'string' ? [place['run']] : []));
}
