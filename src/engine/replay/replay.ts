/** Replays a stored message on this machine with the weights that sampled it. */

import { creditIfComparable } from '../../credit/compared.ts';
import { IMPORTED } from '../../domain/episode.ts';
import { AS_RECORDED, type ReplayResult } from '../../domain/replay.ts';
import { JUDGE_KEY, describeJudgeAgreement } from '../../domain/run.ts';
import { openReplay, type OpenReplay } from '../../replay/replayMessage.ts';
import { checkRequest, type ReplayControl } from '../../replay/request.ts';
import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds, type Held } from '../../shared/holds.ts';
import { findCapabilities, requireCapability } from '../../shared/rolePolicies.ts';
import type { StoreReader } from '../../store/types.ts';
import type { RoleModel } from '../models/roles.ts';
import { readTeam, type RecordedTeam } from '../program/teamFile.ts';
import { describeTemplateChange } from '../recipe/fingerprint.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import { createPacer } from '../run/time/pace.ts';
import { findSnapshotNamed } from '../session/continuation.ts';
import type { RunSession } from '../session/session.ts';
import type { StoreWork } from '../session/storeWork.ts';
import { toCostedTeam, estimateCosts } from './costs.ts';
import { estimateForkCosts, forkMessage } from './fork.ts';
import { checkSettle, isDecidedIn, toPairRequest, type EngineReplay } from './settling.ts';

/** @throws C3Error('input') for a request that is invalid for every message */
export function checkReplay(request: EngineReplay): void {
  checkSettle(request);
  checkRequest(request.settle === undefined ? request : { ...request, design: 'paired', alternatives: 1, replays: 1 });
}

/**
 * Replays a message of the session's run under its own snapshot, or under the chosen weights.
 * @throws C3Error; CancelledError, keeping the stored replays
 */
export async function replayStored(
  session: RunSession,
  request: EngineReplay,
  control: ReplayControl,
): Promise<ReplayResult> {
  const { store, run } = session;
  const { team: file, ...rest } = request;
  if (session.isImported) {
    const message = store.fullMessage(request.message);
    if (file === undefined) {
      throw new C3Error(
        'input',
        `Message ${message.id} was recorded elsewhere: only its program knows what follows another message. ` +
          `Give --team FILE, which names the program's driver and the servers that answer, or what ` +
          `c3 infer ${message.id} writes.`,
      );
    }
    return forkMessage(session, message, { ...rest, team: file }, control);
  }
  if (file !== undefined) {
    throw new C3Error('input', `Run ${run} has a team of its own, so --team does not apply; omit it.`);
  }
  await using opened = await openOwnReplay(session, rest, control);
  return await opened.execute();
}

/**
 * Opens a replay of a message whose run has its own team. The team is held until it is disposed of.
 * @throws C3Error; CancelledError
 */
export async function openOwnReplay(
  session: RunSession,
  request: Omit<EngineReplay, 'team'>,
  control: ReplayControl,
): Promise<Held<OpenReplay>> {
  const { store, run, recipe, protocol, signal, rules } = session;
  const message = store.fullMessage(request.message);
  const { policies } = recipe.config;
  const role = message.role;
  // In the pairs of a search, an equal message shows the chances around it; its own credit is 0.
  if (request.settle !== undefined || (request.alternatives > 0 && request.design !== 'paired')) {
    requireCapability(
      policies,
      role,
      'samples',
      'replay it with a text of your own and no alternatives, or replay a message of another role',
    );
  }
  const { snapshot: name, temperature, model } = request.continuation ?? AS_RECORDED;
  const named = name === null ? message.snapshot : findSnapshotNamed(store, run, name);
  const remark = await describeTemplateChange(recipe, run);
  if (remark !== null) {
    control.onRemark?.(remark);
  }
  const own = name === null && temperature === null && model === null;
  const asked = toPairRequest(store, request, own, protocol);
  for (const cost of estimateCosts(store, message, asked, toCostedTeam(recipe, protocol, request.spending))) {
    control.onRemark?.(describeCost(cost));
  }
  const agreement = recipe[JUDGE_KEY];
  if (agreement !== undefined) {
    control.onRemark?.(describeJudgeAgreement(agreement));
  }
  const snapshot = model === null ? named : await session.otherModel(model);
  const evaluator = session.evaluator(session.judge);
  await using holds = new Holds();
  const team = await holds.take(session.team(snapshot));
  if (request.text !== null && findCapabilities(policies, role).tokens) {
    await checkLength(request.text, message.context, team.roles.get(role) ?? team);
  }
  const opened = await openReplay(
    asked,
    {
      ...rules,
      policy: team.policy,
      evaluator,
      sampling: {
        ...rules.sampling,
        temperature: temperature ?? store.ownContinuation(message.id).temperature ?? rules.sampling.temperature,
      },
      credit: (alternatives) => creditIfComparable(alternatives, 'loo'),
      ...(request.settle !== undefined && { decided: isDecidedIn }),
    },
    { ...control, signal, due: control.due ?? createPacer() },
  );
  const held = holds.move();
  return { execute: () => opened.execute(), [Symbol.asyncDispose]: () => held[Symbol.asyncDispose]() };
}

/**
 * Returns the highest server costs of a replay. Empty for imported runs without a team, whose
 * replays are refused.
 * @throws C3Error('input') if the message's own credit is settled already, or the team file is
 *   invalid
 */
export async function estimateReplayCosts(
  work: Pick<StoreWork, 'reading'>,
  request: EngineReplay,
): Promise<readonly EndpointCost[]> {
  const team = request.team === undefined ? null : await readTeam(request.team, request.teamHash);
  return work.reading((store) => estimateCostsInStore(store, request, team));
}

/**
 * Returns, for each role, the highest costs of any of several replays by one team.
 * @throws as estimateReplayCosts
 */
export async function findHighestCosts(
  work: Pick<StoreWork, 'reading'>,
  requests: readonly EngineReplay[],
): Promise<readonly EndpointCost[]> {
  const [first] = requests;
  const team = first?.team === undefined ? null : await readTeam(first.team, first.teamHash);
  const costs = work.reading((store) => requests.flatMap((request) => estimateCostsInStore(store, request, team)));
  return [...Map.groupBy(costs, ({ role }) => role).values()].map((own) =>
    own.reduce((most, one) => (one.tokens > most.tokens ? one : most)),
  );
}

function estimateCostsInStore(
  store: StoreReader,
  request: EngineReplay,
  team: RecordedTeam | null,
): readonly EndpointCost[] {
  const message = store.fullMessage(request.message);
  if (store.run(message.run).method === IMPORTED) {
    return team === null ? [] : estimateForkCosts(store, message, request, team);
  }
  const recipe = parseRecipe(store.runConfig(message.run), message.run);
  const { snapshot, temperature, model } = request.continuation ?? AS_RECORDED;
  const own = snapshot === null && temperature === null && model === null;
  const protocol = parseRecipeProtocol(recipe);
  const asked = toPairRequest(store, request, own, protocol);
  return estimateCosts(store, message, asked, toCostedTeam(recipe, protocol, request.spending));
}

/** @throws C3Error('input') if a typed message and its context exceed the model's positions */
async function checkLength(text: string, context: string, { tokenizer, info }: RoleModel): Promise<void> {
  const [typed, before] = await Promise.all([tokenizer.encode(text), tokenizer.encode(context)]);
  const tokens = typed.length + 1;
  const contextTokens = before.length;
  const { maxPositions } = info.config;
  if (contextTokens + tokens > maxPositions) {
    throw new C3Error(
      'input',
      `The text has ${tokens} tokens and its context ${contextTokens}, together more than the model's ${maxPositions} positions; shorten it.`,
    );
  }
}
