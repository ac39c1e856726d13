/** The vote that ended the episode of a message, read from the store. */
import { isRecord } from '../../../shared/guard.ts';
import { oneEpisode } from '../../../shared/transcript/oneEpisode.ts';
import type { ShownVote } from '../../../shared/transcript/shownVote.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import { loadService, type Service } from '../../configuration/load.ts';

export type VoteReader = Pick<StoreReader, 'chain' | 'children' | 'environmentEvents' | 'problem' | 'runConfig'>;

/** A longer configuration is not read for it. */
const MOST_CHARACTERS = 1 << 18;

/**
 * The vote that ended the episode that a message is part of.
 * @param service as far as it is needed; loaded where there is a vote
 * @returns null where there was none, where the message is part of several episodes, and where the run's configuration
 *   cannot be read
 */
export async function shownVote(
  reader: VoteReader,
  id: number,
  service: () => Promise<Pick<Service, VoteParts>> = loadService,
): Promise<ShownVote | null> {
  const messages = oneEpisode(reader, id);
  const leaf = messages?.at(-1);
  if (messages === null || leaf === undefined) {
    return null;
  }
  const event = reader.environmentEvents(leaf.id, 'after').at(-1)?.event;
  const recipe = event?.closing === true && event.source === 'vote' ? recipeOf(reader.runConfig(leaf.run)) : null;
  if (event === undefined || recipe === null) {
    return null;
  }
  const problem = reader.problem(leaf.problem);
  const { parseProtocol, storedRounds, storedScoring, countedVote, answerFormOf, evaluatorWithoutCode } =
    await service();
  try {
    const { evaluator: name, task } = storedScoring(recipe.config);
    const evaluator = evaluatorWithoutCode(name, answerFormOf(task.train_file === null ? task.name : null));
    const protocol = parseProtocol(recipe.text, 'protocol', storedRounds(recipe.config));
    return await countedVote({ problem, protocol, messages, event }, evaluator);
  } catch {
    // A configuration of another version: the event's own text stays.
    return null;
  }
}

type VoteParts =
  | 'parseProtocol'
  | 'storedRounds'
  | 'storedScoring'
  | 'countedVote'
  | 'answerFormOf'
  | 'evaluatorWithoutCode';

/** What a run was made with; null where it has no recipe, as one that was imported. */
function recipeOf(stored: string): { readonly config: Record<string, unknown>; readonly text: string } | null {
  if (stored.length > MOST_CHARACTERS) {
    return null;
  }
  try {
    const recipe: unknown = JSON.parse(stored);
    return isRecord(recipe) && isRecord(recipe['config']) && typeof recipe['protocolText'] === 'string'
      ? { config: recipe['config'], text: recipe['protocolText'] }
      : null;
  } catch {
    return null;
  }
}
