/** Counts the vote that ended the episode of a stored message again without each voter. */
import type { EnvironmentEvent } from '../../domain/episode.ts';
import type { Message } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import { countedVote } from '../../replay/countedVote.ts';
import { oneEpisode } from '../../shared/transcript/oneEpisode.ts';
import type { ShownVote } from '../../shared/transcript/shownVote.ts';
import type { StoreReader } from '../../store/types.ts';
import { Evaluators } from '../recipe/evaluators.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';

/** An episode that ended with a vote, as the store has it. */
export interface VotedEpisode {
  readonly run: string;
  readonly config: string;
  readonly problem: Problem;
  readonly messages: readonly Message[];
  readonly event: EnvironmentEvent;
}

/** Reads the episode of a message, or null if there are several or it did not end with a vote. */
export function votedEpisode(store: StoreReader, id: number): VotedEpisode | null {
  const messages = oneEpisode(store, id);
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
export async function storedVote({ run, config, problem, messages, event }: VotedEpisode): Promise<ShownVote | null> {
  const recipe = parseRecipe(config, run);
  const episode = { problem, protocol: protocolOf(recipe), messages, event };
  using evaluators = new Evaluators();
  using scored = evaluators.take(recipe);
  return await countedVote(episode, scored.evaluator);
}
