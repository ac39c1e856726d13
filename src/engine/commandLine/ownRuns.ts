/** `c3 note` and `c3 delete`: annotate runs and episodes of a store, and delete runs. */

import { BY_HAND } from '../../domain/episode.ts';
import type { NotedEpisode } from '../../domain/episodeNote.ts';
import { parseTags } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import { formatBytes } from '../../shared/text/sizes.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { DELETE, NOTE } from './declared/results.ts';
import { withService } from './support.ts';

export async function note(given: Given<typeof NOTE>, context: CommandContext): Promise<void> {
  const { subject, title, note: words, named } = given;
  const own = {
    ...(words !== null && { note: words }),
    ...(named.has('tags') && { tags: parseTags(given.tags.join(',')) }),
  };
  if (/^\d+$/u.test(subject)) {
    await noteEpisode(given, own, context);
    return;
  }
  if (given.score !== null) {
    throw new C3Error('input', 'c3 note takes --score for an episode; give the number of one of its messages.');
  }
  if (title === null && Object.keys(own).length === 0) {
    throw new C3Error('input', 'c3 note needs --title, --note or --tags for a run.');
  }
  await withService(given, context, async (service) => {
    const noted = await service.noteRun({ run: subject, ...(title !== null && { title }), ...own }, context.signal);
    context.print(
      given.json
        ? JSON.stringify({ run: subject, ...noted })
        : [`${subject}: ${noted.title}`, ...(noted.tags.length === 0 ? [] : [noted.tags.join(', ')]), noted.note]
            .filter((line) => line !== '')
            .join('\n'),
    );
  });
}

async function noteEpisode(
  given: Given<typeof NOTE>,
  own: { readonly note?: string; readonly tags?: readonly string[] },
  context: CommandContext,
): Promise<void> {
  const message = Number(given.subject);
  if (!Number.isSafeInteger(message) || message < 1) {
    throw new C3Error('input', 'c3 note needs the number of a message, for example `c3 note 17`.');
  }
  const score = given.score === null ? undefined : readScoreOption(given.score);
  if (score === undefined && Object.keys(own).length === 0) {
    throw new C3Error('input', 'c3 note needs --score, --note or --tags for an episode.');
  }
  if (given.title !== null) {
    throw new C3Error('input', 'An episode has no title; c3 note takes --title for a run.');
  }
  await withService(given, context, async (service) => {
    await service.updated(context.signal);
    const noted = await service.noteEpisode({ message, ...own, ...(score !== undefined && { score }) }, context.signal);
    context.print(given.json ? JSON.stringify(noted) : formatNotedEpisode(noted).join('\n'));
  });
}

/** Reads a score; null removes the stored one. @throws C3Error('input') for anything but a number */
function readScoreOption(given: string): number | null {
  if (given === 'none') {
    return null;
  }
  const score = given.trim() === '' ? NaN : Number(given);
  if (!Number.isFinite(score)) {
    throw new C3Error(
      'input',
      `--score needs a number, or none to take it back, not ${JSON.stringify(given.slice(0, 40))}.`,
    );
  }
  return score;
}

function formatNotedEpisode({ episode, score, note: words, tags, isReturn }: NotedEpisode): readonly string[] {
  const scored = score === null ? 'no score by hand' : `${BY_HAND}: ${score}`;
  const counts = score === null ? '' : isReturn ? ', which is its return' : ', besides its own return';
  return [`episode ${episode}, ${scored}${counts}`, tags.join(', '), words].filter((line) => line !== '');
}

export async function deleteCommand(given: Given<typeof DELETE>, context: CommandContext): Promise<void> {
  const { print, signal } = context;
  const { run } = given;
  await withService(given, context, async (service) => {
    const bytes = await service.deleteRun(run, signal);
    print(given.json ? JSON.stringify({ run, bytes }) : `Run ${run} is deleted; ${formatBytes(bytes)} are free now.`);
  });
}
