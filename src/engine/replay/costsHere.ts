/** What a replay may ask of servers at most, from what the store knows. */
import type { ReplayRequest } from '../../replay/request.ts';
import type { EndpointCost } from '../../shared/endpointCost.ts';
import type { Decision } from '../../shared/records/records.ts';
import type { StoreReader } from '../../store/types.ts';
import { runSampling } from '../../training/config/config.ts';
import { replayCosts, type CostedTeam } from '../models/endpointCost.ts';
import { protocolOf, type StoredRecipe } from '../recipe/recipe.ts';

type Team = Omit<CostedTeam, 'spent'>;

/** The team of a run as it costs. @param limit in the place of the configuration's */
export const costedTeam = (recipe: StoredRecipe, limit: CostedTeam['limit'] = {}): Team => ({
  protocol: protocolOf(recipe),
  policies: recipe.config.policies,
  sampling: runSampling(recipe.config),
  limit,
});

/** The costs of replaying a decision, by the roles that servers answer. */
export function costsOf(
  store: StoreReader,
  { run, id, position, context, instance }: Decision,
  asked: ReplayRequest,
  team: Team,
): readonly EndpointCost[] {
  // What is said of one message may be longer than what is said of another.
  const said = [store.instance(instance).question, ...store.chain(id).map(({ text }) => text), context];
  const bytes = said.reduce((total, text) => total + Buffer.byteLength(text), 0);
  return replayCosts(asked, { ...team, spent: (role) => store.spent(run, role) }, position, bytes);
}
