/** Whether servers answer for a run, by its stored configuration. */
import { isRecord } from '../shared/guard.ts';
import { sectionOf, storedConfig } from './storedRecipe.ts';

/** Whether servers answer for roles of a run, or for its judge. @param config as the store keeps it */
export function asksServers(config: string): boolean {
  const run = storedConfig(config);
  const asked = [...Object.values(sectionOf(run, 'policies')), sectionOf(run, 'scorer')['judge']];
  return asked.some((one) => isRecord(one) && (one['kind'] === 'endpoint' || one['kind'] === 'vscode'));
}
