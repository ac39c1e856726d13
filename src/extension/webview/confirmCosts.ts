/** Asks for consent to the cost of servers, before work begins. */

import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { askForConfirmation } from './confirm.ts';

/**
 * Asks for consent to a cost. Returns true without a question if all servers are local and free.
 * @param question the text of the question
 * @param action the label of the button that confirms
 */
export async function confirmCosts(costs: readonly EndpointCost[], question: string, action: string): Promise<boolean> {
  return costs.some(({ local, money }) => !local || money > 0)
    ? askForConfirmation(question, action, costs.map(describeCost).join('\n'))
    : true;
}
