/** Summarizes why an episode was lost. */

import type { Message } from '../../../domain/message.ts';
import type { Alternative } from '../../../domain/replay.ts';
import type { Headline } from '../../../shared/credit/headline.ts';
import { toOutcome } from '../../../shared/credit/returns.ts';
import { takeBeginning } from '../../../shared/text/visible.ts';
import { readEpisodeThrough } from '../../../shared/transcript/episodeThrough.ts';
import {
  findBestAlternative,
  findDecisive,
  type WhyLost,
  type WhyMessage,
} from '../../../shared/transcript/whyLost.ts';
import { DIFF_LIMIT } from '../../../shared/transcript/wordDiff.ts';
import type { StoreReader } from '../../../store/read/reader.ts';

type Reader = Pick<StoreReader, 'chain' | 'children' | 'bucketsFor' | 'returnScale'>;

/** Maximum number of alternatives that are read from each bucket. */
const MOST_ALTERNATIVES = 1_000;

/**
 * Summarizes the episode of a message. If there are several, takes the first one with the lowest
 * return.
 * @returns null if that episode was not lost or not scored
 */
export function summarizeLoss(reader: Reader, id: number): WhyLost | null {
  const messages = readEpisodeThrough(reader, id);
  const end = messages.at(-1);
  if (end === undefined || end.return === null) {
    return null;
  }
  const outcome = toOutcome(end.return, reader.returnScale(end.run));
  if (outcome === 'won') {
    return null;
  }
  const found = findDecisive(messages);
  const { id: leaf, return: value } = end;
  if (found === null) {
    return { leaf, return: value, outcome, decided: false, decisive: null, best: null };
  }
  const { message, decided } = found;
  const decisive = summarizeMessage(message);
  const best =
    decisive === null
      ? null
      : findBestAlternative({ text: message.text, credit: decisive.credit }, readOwnAlternatives(reader, message));
  return {
    leaf,
    return: value,
    outcome,
    decided,
    decisive,
    best: best === null ? null : summarizeAlternative(best, message),
  };
}

/** Returns the alternatives of a message that were continued with its own distribution. */
function readOwnAlternatives(reader: Reader, { id }: Message): readonly Alternative[] {
  const buckets = reader.bucketsFor(id, MOST_ALTERNATIVES).filter(({ continuation }) => continuation === null);
  return buckets.flatMap(({ alternatives }) => alternatives);
}

function summarizeMessage({ id, role, turn, text, finish, return: value, credit }: Message): WhyMessage | null {
  return credit === null
    ? null
    : shortenMessage({ message: id, role, turn, text, typed: finish === 'typed', return: value, credit });
}

function summarizeAlternative(
  { message, text, finish, returns, credit }: Alternative,
  { role, turn }: Message,
): WhyMessage | null {
  const scored = returns.filter((value) => value !== null);
  const value = scored.length === 0 ? null : scored.reduce((sum, one) => sum + one, 0) / scored.length;
  return credit === null
    ? null
    : shortenMessage({ message, role, turn, text, typed: finish === 'typed', return: value, credit });
}

function shortenMessage(message: WhyMessage & { readonly credit: Headline }): WhyMessage {
  return { ...message, text: takeBeginning(message.text, DIFF_LIMIT) };
}
