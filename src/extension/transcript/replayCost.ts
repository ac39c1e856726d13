/** What a replay may cost at servers: said and agreed to before it begins. */
import { costWords, type EndpointCost } from '../../shared/endpointCost.ts';
import { isRecord } from '../../shared/guard.ts';
import { confirmed } from '../webview/confirm.ts';

/** Whether servers answer for roles of a run. @param config as the store keeps it */
export function asksServers(config: string): boolean {
  const recipe: unknown = JSON.parse(config);
  const run = isRecord(recipe) ? recipe['config'] : undefined;
  const policies = isRecord(run) ? run['policies'] : undefined;
  return isRecord(policies) && Object.values(policies).some((one) => isRecord(one) && one['kind'] === 'endpoint');
}

/** Asks whether a replay may cost so much; not where all of it stays on this machine and has no price. */
export async function confirmCosts(costs: readonly EndpointCost[]): Promise<boolean> {
  return costs.some(({ local, money }) => !local || money > 0)
    ? confirmed('Replay this message with the help of servers?', 'Replay', costs.map(costWords).join('\n'))
    : true;
}
