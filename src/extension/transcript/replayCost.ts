/** What a replay may cost at servers: said and agreed to before it begins. */
import { costWords, type EndpointCost } from '../../shared/endpointCost.ts';
import { confirmed } from '../webview/confirm.ts';

/** Asks whether a replay may cost so much; not where all of it stays on this machine and has no price. */
export async function confirmCosts(costs: readonly EndpointCost[]): Promise<boolean> {
  return costs.some(({ local, money }) => !local || money > 0)
    ? confirmed('Replay this message with the help of servers?', 'Replay', costs.map(costWords).join('\n'))
    : true;
}
