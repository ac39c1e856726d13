/** Counts the vote that ended the episode of a stored message again without each voter. */

import type { EnvironmentEvent } from '../../domain/episode.ts';
import type { Message } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import { recountVote } from '../../replay/countedVote.ts';
import { readOnlyEpisode } from '../../shared/transcript/oneEpisode.ts';
import type { ShownVote } from '../../shared/transcript/shownVote.ts';
import type { StoreReader } from '../../store/types.ts';
import { Evaluators } from '../recipe/evaluators.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';

/** An episode that ended with a vote, as the store has it. */
export interface VotedEpisode {
  readonly run: string;
  readonly config: string;
  readonly problem: Problem;
  readonly messages: readonly Message[];
  readonly event: EnvironmentEvent;
}

/** Reads the episode of a message, or null if there are several or it did not end with a vote. */
export function readVotedEpisode(store: StoreReader, id: number): VotedEpisode | null {
  const messages = readOnlyEpisode(store, id);
  const leaf = messages?.at(-1);
  const event = leaf === undefined ? undefined : store.environmentEvents(leaf.id, 'after').at(-1)?.event;
  if (messages === null || leaf === undefined || event?.closing !== true || event.source !== 'vote') {
    return null;
  }
  return { run: leaf.run, config: store.runConfig(leaf.run), problem: store.problem(leaf.problem), messages, event };
}

/**
 * Counts the vote again with the run's own rule and evaluator.
 * @throws C3Error if the recipe cannot be read
 */
export async function recountStoredVote({
  run,
  config,
  problem,
  messages,
  event,
}: VotedEpisode): Promise<ShownVote | null> {
  const recipe = parseRecipe(config, run);
  const episode = { problem, protocol: parseRecipeProtocol(recipe), messages, event };
  using evaluators = new Evaluators();
  using scored = evaluators.take(recipe);
  return await recountVote(episode, scored.evaluator);
}
