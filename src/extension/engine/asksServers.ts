/** Whether servers answer for a run, by its stored configuration. */
import { isRecord } from '../../shared/guard.ts';

/** Whether servers answer for roles of a run, or for its judge. @param config as the store keeps it */
export function asksServers(config: string): boolean {
  const recipe: unknown = JSON.parse(config);
  const run = isRecord(recipe) ? recipe['config'] : undefined;
  const policies = isRecord(run) ? run['policies'] : undefined;
  const scorer = isRecord(run) ? run['scorer'] : undefined;
  const asked = [
    ...(isRecord(policies) ? Object.values(policies) : []),
    isRecord(scorer) ? scorer['judge'] : undefined,
  ];
  return asked.some((one) => isRecord(one) && (one['kind'] === 'endpoint' || one['kind'] === 'vscode'));
}
