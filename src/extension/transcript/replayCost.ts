/** What replays may cost at servers: said and agreed to before they begin. */
import { costWords, summedCosts, type EndpointCost } from '../../shared/endpointCost.ts';
import { confirmed } from '../webview/confirm.ts';

/** Asks whether replays may cost so much; not where all of it stays on this machine and has no price. */
export async function confirmCosts(costs: readonly EndpointCost[]): Promise<boolean> {
  return costs.some(({ local, money }) => !local || money > 0)
    ? confirmed('Replay with the help of servers?', 'Replay', costs.map(costWords).join('\n'))
    : true;
}

/** What several replays may cost together, by role. @param costsOf those of one */
export async function costsOfAll<Params>(
  all: readonly Params[],
  costsOf: (params: Params) => Promise<readonly EndpointCost[]>,
): Promise<readonly EndpointCost[]> {
  const costs = (await Promise.all(all.map(costsOf))).flat();
  return summedCosts(costs);
}
