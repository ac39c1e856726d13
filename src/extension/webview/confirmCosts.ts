/** What work may cost at servers: said and agreed to before it begins. */
import { costWords, type EndpointCost } from '../../shared/endpointCost.ts';
import { confirmed } from './confirm.ts';

/**
 * Asks whether work may cost so much; not where all of it stays on this machine and has no price.
 * @param question what is asked
 * @param action the word on the button that confirms
 */
export async function confirmCosts(costs: readonly EndpointCost[], question: string, action: string): Promise<boolean> {
  return costs.some(({ local, money }) => !local || money > 0)
    ? confirmed(question, action, costs.map(costWords).join('\n'))
    : true;
}
