/** Replays recorded messages: servers answer, and the user's program decides which message is next. */

import { creditIfComparable } from '../../credit/compared.ts';
import type { FullMessage } from '../../domain/message.ts';
import type { ReplayResult } from '../../domain/replay.ts';
import { replayMessage } from '../../replay/replayMessage.ts';
import type { ReplayControl } from '../../replay/request.ts';
import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import type { StoreReader } from '../../store/types.ts';
import { renderPlain } from '../../team/render.ts';
import { getRunSampling } from '../../training/config/config.ts';
import { InferredProgram } from '../program/inferredProgram.ts';
import { readTeam, type RecordedTeam } from '../program/teamFile.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import { createPacer } from '../run/time/pace.ts';
import type { RunSession } from '../session/session.ts';
import { estimateCosts } from './costs.ts';
import { listAnswering, openProtocol, openRecordedTeam, serveModels, settleAddresses } from './recordedTeam.ts';
import { isDecidedIn, toPairRequest, type EngineReplay } from './settling.ts';

/**
 * Replays a message of an imported run.
 * @throws C3Error('input') for a team file that is invalid or has no policy for a role;
 *   C3Error('engine') if the program does not continue from the recorded messages; CancelledError
 */
export async function forkMessage(
  session: RunSession,
  message: FullMessage,
  request: EngineReplay & { readonly team: string },
  control: ReplayControl,
): Promise<ReplayResult> {
  const { store, run, signal, rules } = session;
  const team = await readTeam(request.team, request.teamHash);
  const protocol = openProtocol(session.protocol, [team]);
  const { snapshot = null, temperature = null, model = null } = request.continuation ?? {};
  if (snapshot !== null || model !== null) {
    throw new C3Error('input', `${team.path} names the models that answer for run ${run}; name another model there.`);
  }
  const { next } = team;
  if (next.kind === 'steps') {
    // An edited result applies only after its own message.
    const isGiven = typeof request.result === 'string' && request.alternatives === 0;
    new InferredProgram(next.steps, team).check(countEntriesThrough(store, message.id) + (isGiven ? 1 : 0));
  }
  const asked = toPairRequest(store, request, true, protocol);
  for (const cost of estimateForkCosts(store, message, request, team)) {
    control.onRemark?.(describeCost(cost));
  }
  const { temperature: usual, maxNewTokens } = team;
  const environment = store.environment(message.environment);
  const answering = listAnswering(team, protocol);
  await using holds = new Holds();
  const servers = await serveModels([answering], holds, signal);
  const opened = await openRecordedTeam(session, { team, answering, servers, environment }, holds);
  return await replayMessage(
    asked,
    {
      ...rules,
      protocol,
      ...opened,
      render: renderPlain,
      sampling: { ...rules.sampling, temperature: temperature ?? usual ?? rules.sampling.temperature, maxNewTokens },
      credit: (alternatives) => creditIfComparable(alternatives, 'loo'),
      ...(request.settle !== undefined && { decided: isDecidedIn }),
    },
    { ...control, signal, due: createPacer() },
  );
}

/**
 * Returns the highest server costs of a fork, without starting anything or sending requests.
 * @throws C3Error('input') for a role without a policy in the team file, or a credit that is
 *   settled already
 */
export function estimateForkCosts(
  store: StoreReader,
  message: FullMessage,
  request: EngineReplay,
  team: RecordedTeam,
): readonly EndpointCost[] {
  const recipe = parseRecipe(store.runConfig(message.run), message.run);
  const protocol = openProtocol(parseRecipeProtocol(recipe), [team]);
  const policies = settleAddresses(listAnswering(team, protocol));
  const asked = toPairRequest(store, request, true, protocol);
  const sampling = { ...getRunSampling(recipe.config), maxNewTokens: team.maxNewTokens };
  const position = protocol.roles.findIndex(({ name }) => name === message.role);
  const limit = request.spending ?? {};
  return estimateCosts(store, { ...message, position }, asked, { protocol, policies, sampling, limit });
}

/** Counts the log entries of an episode up to and including a message. */
const countEntriesThrough = (store: StoreReader, message: number): number =>
  store.chain(message).reduce((count, { id }) => count + 1 + store.environmentEvents(id, 'before').length, 0);
