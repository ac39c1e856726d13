/** Whether servers answer for a run, by its stored configuration. */
import { isRecord } from '../../shared/guard.ts';

/** Whether servers answer for roles of a run. @param config as the store keeps it */
export function asksServers(config: string): boolean {
  const recipe: unknown = JSON.parse(config);
  const run = isRecord(recipe) ? recipe['config'] : undefined;
  const policies = isRecord(run) ? run['policies'] : undefined;
  return (
    isRecord(policies) &&
    Object.values(policies).some((one) => isRecord(one) && (one['kind'] === 'endpoint' || one['kind'] === 'vscode'))
  );
}
