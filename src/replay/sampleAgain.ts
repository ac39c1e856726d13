/** Samples replays that cannot be reproduced again, to compare their returns with the stored ones. */

import type { FullMessage } from '../domain/message.ts';
import type { Replay } from '../domain/replay.ts';
import type { ReturnSamples } from '../domain/verification.ts';
import type { StoreReader } from '../store/types.ts';
import { isTerminal } from '../team/protocol.ts';
import { countMostScores } from '../team/rounds.ts';
import { EvaluatorBudget } from './budget.ts';
import { growEpisodes } from './episodes.ts';
import { scoreMessage } from './grow.ts';
import type { ReplayDependencies } from './request.ts';
import { readFrozenBranch, toTreeMessage } from './storedBranch.ts';
import { findLeaves, computeReturn, type Branch, type TreeMessage } from './tree.ts';

/** Returns true if a stored replay has a message that no seed reproduces. */
export function isUnseeded(store: StoreReader, { alternative, leaf }: Replay): boolean {
  const chain = store.chain(leaf);
  const start = chain.findIndex(({ id }) => id === alternative);
  return chain
    .slice(Math.max(0, start))
    .some(({ id, finish }) => finish !== 'typed' && store.fullMessage(id).streamKey === '');
}

/** Replays that are sampled together: of one message, or all last messages of a context. */
interface Group {
  readonly branch: Branch;
  readonly replays: readonly Replay[];
  readonly message: FullMessage;
}

/**
 * Samples the replays of one snapshot again, each as often as it is stored: the continuations of a
 * message, and last messages in their context. Nothing is stored. Replays without a return, now or
 * then, are left out.
 * @throws CancelledError; C3Error if a context is not available, an endpoint refuses, or the limit
 *   is too low
 */
export async function sampleAgain(
  replays: readonly Replay[],
  dependencies: Omit<ReplayDependencies, 'credit'>,
  signal: AbortSignal,
): Promise<ReturnSamples[]> {
  const { store, protocol, returnBound } = dependencies;
  const samples: ReturnSamples[] = [];
  for (const { branch, replays: own, message } of await groupReplays(replays, dependencies)) {
    const calls = (own.length + 1) * countMostScores(protocol);
    const settings = {
      ...dependencies,
      budget: new EvaluatorBudget(2 * calls),
      sampling: { ...dependencies.sampling, temperature: findGroupTemperature(store, own) },
      scope: `verify:${message.id}`,
      commonRandomNumbers: false,
    };
    for (let grown: TreeMessage | null = branch.message; grown !== null; grown = grown.parent) {
      await scoreMessage(settings, grown, signal);
    }
    const roots = await growEpisodes(settings, [branch], [own.length], { signal });
    samples.push({
      stored: own.flatMap((replay) => replay.return ?? []),
      again: roots.flatMap(findLeaves).flatMap((leaf) => computeReturn(leaf, returnBound) ?? []),
    });
  }
  return samples;
}

/** Returns the temperature of a group, which all of its replays share. */
const findGroupTemperature = (store: StoreReader, [replay]: readonly Replay[]): number =>
  replay === undefined ? 1 : store.fullMessage(replay.leaf).sampling.temperature;

async function groupReplays(
  replays: readonly Replay[],
  dependencies: Omit<ReplayDependencies, 'credit'>,
): Promise<Group[]> {
  const { store, protocol } = dependencies;
  const groups: Group[] = [];
  for (const own of Map.groupBy(replays, ({ alternative }) => alternative).values()) {
    const [first] = own;
    const message = first === undefined ? null : store.fullMessage(first.alternative);
    if (message === null || isTerminal(protocol, message.position)) {
      continue;
    }
    const before = await readFrozenBranch(message, dependencies);
    const grown = toTreeMessage(store, before.problem, message, before.message);
    groups.push({ branch: { problem: before.problem, message: grown }, replays: own, message });
  }
  // A last message determines its return, so messages are compared, as many as were sampled at each
  // temperature.
  const last = replays.filter(({ alternative }) => isTerminal(protocol, store.message(alternative).position));
  const alike = Map.groupBy(last, ({ bucket, leaf }) =>
    JSON.stringify([bucket, store.fullMessage(leaf).sampling.temperature]),
  );
  for (const own of alike.values()) {
    const [first] = own;
    if (first !== undefined) {
      const message = store.fullMessage(first.alternative);
      groups.push({ branch: await readFrozenBranch(message, dependencies), replays: own, message });
    }
  }
  return groups;
}
