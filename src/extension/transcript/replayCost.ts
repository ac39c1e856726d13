/** What replays may cost at servers: said and agreed to before they begin. */
import { summedCosts, type EndpointCost } from '../../shared/endpointCost.ts';
import { confirmCosts } from '../webview/confirmCosts.ts';

/** Asks whether replays may cost so much, where they may cost something. */
export const confirmReplayCosts = (costs: readonly EndpointCost[]): Promise<boolean> =>
  confirmCosts(costs, 'Replay with the help of servers?', 'Replay');

/** What several replays may cost together, by role. @param costsOf those of one */
export async function costsOfAll<Params>(
  all: readonly Params[],
  costsOf: (params: Params) => Promise<readonly EndpointCost[]>,
): Promise<readonly EndpointCost[]> {
  const costs = (await Promise.all(all.map(costsOf))).flat();
  return summedCosts(costs);
}
