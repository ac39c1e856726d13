/** Reads the vote that ended the episode of a message. */

import { isRecord } from '../../../shared/guard.ts';
import type { MarkedRow } from '../../../shared/protocols/transcriptProtocol.ts';
import { readOnlyEpisode } from '../../../shared/transcript/oneEpisode.ts';
import type { ShownVote, ShownVoter } from '../../../shared/transcript/shownVote.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import { loadService, type Service } from '../../configuration/load.ts';

export type VoteReader = Pick<StoreReader, 'chain' | 'children' | 'environmentEvents' | 'problem' | 'runConfig'>;

/** Maximum length of a recipe that is read, in characters. */
const MOST_CHARACTERS = 1 << 18;

/** The rules of runs for counting votes, by run; null for a run whose recipe cannot be read. */
type VoteRules = Map<string, VoteRule | null>;

interface VoteRule {
  readonly protocol: ReturnType<Service['parseProtocol']>;
  readonly evaluator: ReturnType<Service['evaluatorWithoutCode']>;
}

/** Cache of counted votes and of the rules of runs, which never change. */
export class KnownVotes {
  /** Voters, by message. */
  readonly voters = new Map<number, ShownVoter>();
  readonly rules: VoteRules = new Map();
}

/**
 * Returns the vote that ended the episode of a message.
 * @param service loads the parser and the evaluators; called only if there is a vote
 * @returns null if there was no vote, the message is part of several episodes, or the run's recipe
 *   cannot be read
 */
export async function readShownVote(
  reader: VoteReader,
  id: number,
  service: () => Promise<Pick<Service, VoteParts>> = loadService,
  rules: VoteRules = new Map(),
): Promise<ShownVote | null> {
  const messages = readOnlyEpisode(reader, id);
  const leaf = messages?.at(-1);
  if (messages === null || leaf === undefined) {
    return null;
  }
  const event = reader.environmentEvents(leaf.id, 'after').at(-1)?.event;
  if (event?.closing !== true || event.source !== 'vote') {
    return null;
  }
  const known = rules.get(leaf.run);
  const rule = known === undefined ? readVoteRule(reader.runConfig(leaf.run), await service()) : known;
  rules.set(leaf.run, rule);
  if (rule === null) {
    return null;
  }
  const problem = reader.problem(leaf.problem);
  const { countedVote } = await service();
  try {
    return await countedVote({ problem, protocol: rule.protocol, messages, event }, rule.evaluator);
  } catch {
    // The protocol lacks some of the messages. The page then shows the event's own text.
    return null;
  }
}

/** Reads the rule of a run for counting votes, or returns null if its recipe is from another version. */
function readVoteRule(stored: string, service: Omit<Pick<Service, VoteParts>, 'countedVote'>): VoteRule | null {
  const recipe = readVoteRecipe(stored);
  if (recipe === null) {
    return null;
  }
  const { parseProtocol, storedRounds, storedScoring, answerFormOf, evaluatorWithoutCode } = service;
  try {
    const { evaluator: name, task } = storedScoring(recipe.config);
    return {
      evaluator: evaluatorWithoutCode(name, answerFormOf(task.train_file === null ? task.name : null)),
      protocol: parseProtocol(recipe.text, 'protocol', storedRounds(recipe.config)),
    };
  } catch {
    return null;
  }
}

/** Adds to rows the part of their messages in the votes that ended their episodes. */
export async function addVotes(
  reader: VoteReader,
  rows: readonly MarkedRow[],
  { voters, rules }: KnownVotes,
  service?: () => Promise<Pick<Service, VoteParts>>,
): Promise<readonly MarkedRow[]> {
  const voted: MarkedRow[] = [];
  for (const row of rows) {
    const { message } = row;
    if (message !== null && row.lane === null && !voters.has(message)) {
      const vote = await readShownVote(reader, message, service, rules);
      for (const voter of vote?.voters ?? []) {
        voters.set(voter.message, voter);
      }
    }
    const voter = message === null || row.lane !== null ? undefined : voters.get(message);
    voted.push(voter === undefined ? row : { ...row, vote: voter });
  }
  return voted;
}

type VoteParts =
  | 'parseProtocol'
  | 'storedRounds'
  | 'storedScoring'
  | 'countedVote'
  | 'answerFormOf'
  | 'evaluatorWithoutCode';

/** Reads a run's recipe, or returns null if it has none, as an imported run. */
function readVoteRecipe(stored: string): { readonly config: Record<string, unknown>; readonly text: string } | null {
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
