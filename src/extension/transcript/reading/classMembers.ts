/** Which messages are in which class of the failure taxonomy, for a filter by class. */
import { NO_FILTER } from '../../../domain/taxonomy.ts';
import type { Services } from '../../services.ts';
import type { ClassMembers } from './transcriptReading.ts';

/** Classifies the cases of a run by the workspace's thresholds; the engine does the work. */
export async function classMembers(
  { engine, thresholds }: Pick<Services, 'engine' | 'thresholds'>,
  run: string,
): Promise<ClassMembers> {
  const { rows } = await engine
    .client()
    .taxonomy({ run, thresholds: thresholds.get(), filter: NO_FILTER, limit: Number.MAX_SAFE_INTEGER, fresh: true });
  return new Map(
    [...Map.groupBy(rows, ({ verdict }) => verdict)].map(([verdict, cases]) => [
      verdict,
      new Set(cases.flatMap(({ message }) => message ?? [])),
    ]),
  );
}
