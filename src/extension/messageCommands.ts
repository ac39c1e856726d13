/** Commands about one message: that of the context menu, or the one selected in the active transcript. */

import type { EpisodeNote } from '../domain/episodeNote.ts';
import { C3Error } from '../shared/errors.ts';
import type { StoreReader } from '../store/read/reader.ts';
import { readMessageArgument, readProblemArgument } from './commandArguments.ts';
import { keepAsTest } from './findings/keepFinding.ts';
import { askForEpisodeNote, pickEpisode } from './run/ownEpisodes.ts';
import type { Services } from './services.ts';
import { findTranscriptTarget } from './transcript/reading/transcriptOutline.ts';
import { openEpisodesPanel, requireReader, type Views } from './views.ts';

export function replayAlternatives(services: Services, views: Views, argument: unknown): void {
  const reader = requireReader(services);
  const message = findMessageOrOpenEpisodes(views, argument, 'press R on the message to replay');
  if (message === undefined) {
    return;
  }
  views.transcripts.open(findTranscriptTarget(reader, message), message).replayMessage(message);
}

/** Settles the credit of every message of an episode, and goes to the message with the lowest. */
export async function findLostMessage(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = findMessageOrOpenEpisodes(views, argument, 'give this command again');
  if (message !== undefined) {
    await views.transcripts.open(findTranscriptTarget(requireReader(services), message), message).findLost(message);
  }
}

/** Draws a message again and writes it to a file as a test. */
export async function keepFinding(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = findMessageOrOpenEpisodes(views, argument, 'give this command again');
  if (message !== undefined) {
    await keepAsTest(services.engine, message);
  }
}

export async function verifyReplay(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = findMessageOrOpenEpisodes(views, argument, 'press V on the message to verify');
  if (message !== undefined) {
    await services.verifier.verify(message);
  }
}

export function markToCompare(services: Services, views: Views, argument: unknown): void {
  const message = findMessageOrOpenEpisodes(views, argument, 'press C on the message to compare');
  if (message !== undefined) {
    services.comparing.select(message);
  }
}

export async function compareWithMarked(services: Services, views: Views, argument: unknown): Promise<void> {
  const { marked } = services.comparing;
  if (marked === null) {
    throw new C3Error(
      'input',
      'Nothing is selected for comparison: choose "C3: Select to compare" on another message or episode first.',
    );
  }
  const message = findMessageOrOpenEpisodes(views, argument, 'press C on the message to compare');
  if (message === undefined) {
    return;
  }
  services.comparing.select(null);
  views.transcripts.active?.showComparison(marked, message);
  await services.comparing.openDiff(marked, message);
}

export async function showContext(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = findMessageOrOpenEpisodes(views, argument, 'press T on the message');
  if (message !== undefined) {
    await services.comparing.openContext(message, requireReader(services).message(message).role);
  }
}

/** Asks for the score, note or tags of an episode: that of the menu, active row or transcript. */
export async function noteEpisode(
  services: Services,
  views: Views,
  argument: unknown,
  part: keyof EpisodeNote,
): Promise<void> {
  services.engine.client();
  const reader = requireReader(services);
  const problem =
    readProblemArgument(argument) ??
    (readMessageArgument(argument) === undefined ? views.episodes.problemInFront : null);
  const ends = problem === null ? findEndsOrOpenEpisodes(reader, views, argument) : findProblemEnds(reader, problem);
  const episode = ends === null ? undefined : await pickEpisode(reader, ends);
  if (episode !== undefined) {
    await askForEpisodeNote(services, reader, episode, part);
  }
}

/** Returns the last messages of the episodes through the chosen message, or null if none is chosen. */
function findEndsOrOpenEpisodes(reader: StoreReader, views: Views, argument: unknown): readonly number[] | null {
  const message = findMessageOrOpenEpisodes(views, argument, 'give this command again');
  return message === undefined ? null : reader.lastMessages(message);
}

/** Returns the last messages of a problem's episodes, in the round at which its transcript opens. */
function findProblemEnds(reader: StoreReader, problem: number): readonly number[] {
  const opening = reader.problemOpening(problem, null);
  const outline = opening === null ? [] : reader.outline(opening.target).messages;
  return outline.filter(({ parent }) => parent === null).flatMap(({ id }) => reader.lastMessages(id));
}

/**
 * Returns the message of a menu, of an episode or of the active transcript. If there is none, opens
 * the episodes panel with a note that says what to do.
 * @param then the rest of that note, as an instruction
 */
function findMessageOrOpenEpisodes(views: Views, argument: unknown, then: string): number | undefined {
  const message = readMessageArgument(argument) ?? views.transcripts.active?.selection ?? undefined;
  if (message === undefined) {
    openEpisodesPanel(views, undefined, `Choose a problem, then ${then} in its transcript.`);
  }
  return message;
}
