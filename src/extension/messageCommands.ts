/** The commands about one message: the one of a menu, or the one that a transcript shows. */
import type { EpisodeNote } from '../domain/episodeNote.ts';
import { C3Error } from '../shared/errors.ts';
import type { StoreReader } from '../store/read/reader.ts';
import { messageOfMenu, problemOfMenu } from './commandArguments.ts';
import { keepAsTest } from './findings/keepFinding.ts';
import { askForEpisodeNote, pickEpisode } from './run/ownEpisodes.ts';
import type { Services } from './services.ts';
import { targetOf } from './transcript/reading/transcriptOutline.ts';
import { openGrid, readerOf, type Views } from './views.ts';

export function replayAlternatives(services: Services, views: Views, argument: unknown): void {
  const reader = readerOf(services);
  const message = chosenMessage(views, argument, 'press R on the message to replay');
  if (message === undefined) {
    return;
  }
  views.transcripts.open(targetOf(reader, message), message).replayMessage(message);
}

/** Settles the credit of every message of an episode, and goes to the lowest. */
export async function findLostMessage(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = chosenMessage(views, argument, 'give this command again');
  if (message !== undefined) {
    await views.transcripts.open(targetOf(readerOf(services), message), message).findLost(message);
  }
}

/** Draws a message again and writes it to a file, as a test. */
export async function keepFinding(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = chosenMessage(views, argument, 'give this command again');
  if (message !== undefined) {
    await keepAsTest(services.engine, message);
  }
}

export async function verifyReplay(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = chosenMessage(views, argument, 'press V on the message to verify');
  if (message !== undefined) {
    await services.verifier.verify(message);
  }
}

export function markToCompare(services: Services, views: Views, argument: unknown): void {
  const message = chosenMessage(views, argument, 'press C on the message to compare');
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
  const message = chosenMessage(views, argument, 'press C on the message to compare');
  if (message === undefined) {
    return;
  }
  services.comparing.select(null);
  views.transcripts.active?.showComparison(marked, message);
  await services.comparing.openDiff(marked, message);
}

export async function showContext(services: Services, views: Views, argument: unknown): Promise<void> {
  const message = chosenMessage(views, argument, 'press T on the message');
  if (message !== undefined) {
    await services.comparing.openContext(message, readerOf(services).message(message).role);
  }
}

/** Asks for the score, the note or the tags of an episode: of a menu, of the row in front, or of the transcript. */
export async function noteEpisode(
  services: Services,
  views: Views,
  argument: unknown,
  part: keyof EpisodeNote,
): Promise<void> {
  services.engine.client();
  const reader = readerOf(services);
  const problem =
    problemOfMenu(argument) ?? (messageOfMenu(argument) === undefined ? views.episodes.problemInFront : null);
  const ends = problem === null ? endsThrough(reader, views, argument) : endsOf(reader, problem);
  const episode = ends === null ? undefined : await pickEpisode(reader, ends);
  if (episode !== undefined) {
    await askForEpisodeNote(services, reader, episode, part);
  }
}

/** The last messages of the episodes through a message; null where none is chosen. */
function endsThrough(reader: StoreReader, views: Views, argument: unknown): readonly number[] | null {
  const message = chosenMessage(views, argument, 'give this command again');
  return message === undefined ? null : reader.lastMessages(message);
}

/** The last messages of the episodes of a problem, in the round at which its transcript opens. */
function endsOf(reader: StoreReader, problem: number): readonly number[] {
  const opening = reader.problemOpening(problem, null);
  const outline = opening === null ? [] : reader.outline(opening.target).messages;
  return outline.filter(({ parent }) => parent === null).flatMap(({ id }) => reader.lastMessages(id));
}

/**
 * A message by its menu, by its episode, or by the transcript that has the focus; else the episodes open, and say what
 * to do in the transcript.
 */
function chosenMessage(views: Views, argument: unknown, then: string): number | undefined {
  const message = messageOfMenu(argument) ?? views.transcripts.active?.selection ?? undefined;
  if (message === undefined) {
    openGrid(views, undefined, `Choose a problem, then ${then} in its transcript.`);
  }
  return message;
}
