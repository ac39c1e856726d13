/** `c3 note` and `c3 delete`: what a user does with the runs and episodes of a store. */
import { BY_HAND } from '../../domain/episode.ts';
import type { NotedEpisode } from '../../domain/episodeNote.ts';
import { tagsOf } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import { bytesWords } from '../../shared/text/sizes.ts';
import { messageNumber, readArguments, text, texts, type ParsedArguments } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, STORE, withService } from './support.ts';

export async function note(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, signal } = context;
  const options = {
    ...STORE,
    ...JSON_FLAG,
    title: { type: 'string' },
    note: { type: 'string' },
    tags: { type: 'string', multiple: true },
    score: { type: 'string' },
  } as const;
  const parsed = readArguments('note', args, options, 1);
  const [run] = parsed.positionals;
  if (run !== undefined && /^\d+$/u.test(run)) {
    await noteEpisode(parsed, context);
    return;
  }
  if (parsed.values['score'] !== undefined) {
    throw new C3Error('input', 'c3 note takes --score for an episode; give the number of one of its messages.');
  }
  const [title, words, tags] = [text(parsed, 'title'), text(parsed, 'note'), askedTags(parsed)];
  if (run === undefined || (title === null && words === null && tags === null)) {
    throw new C3Error(
      'input',
      'c3 note needs a run, and --title, --note or --tags; or a message, and --score, --note or --tags.',
    );
  }
  await withService(parsed, context, async (service) => {
    const noted = await service.noteRun(
      { run, ...(title !== null && { title }), ...(words !== null && { note: words }), ...(tags !== null && { tags }) },
      signal,
    );
    print(
      parsed.values['json'] === true
        ? JSON.stringify({ run, ...noted })
        : [`${run}: ${noted.title}`, ...(noted.tags.length === 0 ? [] : [noted.tags.join(', ')]), noted.note]
            .filter((line) => line !== '')
            .join('\n'),
    );
  });
}

async function noteEpisode(parsed: ParsedArguments, context: CommandContext): Promise<void> {
  const message = messageNumber('note', parsed);
  const [words, score, tags] = [text(parsed, 'note'), askedScore(parsed), askedTags(parsed)];
  if (words === null && score === undefined && tags === null) {
    throw new C3Error('input', 'c3 note needs --score, --note or --tags for an episode.');
  }
  if (parsed.values['title'] !== undefined) {
    throw new C3Error('input', 'An episode has no title; c3 note takes --title for a run.');
  }
  await withService(parsed, context, async (service) => {
    await service.updated(context.signal);
    const noted = await service.noteEpisode(
      {
        message,
        ...(words !== null && { note: words }),
        ...(score !== undefined && { score }),
        ...(tags !== null && { tags }),
      },
      context.signal,
    );
    context.print(parsed.values['json'] === true ? JSON.stringify(noted) : episodeLines(noted).join('\n'));
  });
}

const askedTags = (parsed: ParsedArguments): readonly string[] | null =>
  parsed.values['tags'] === undefined ? null : tagsOf(texts(parsed, 'tags').join(','));

/** Null takes the score back; undefined where none is asked for. @throws C3Error('input') for what is no number */
function askedScore(parsed: ParsedArguments): number | null | undefined {
  const given = text(parsed, 'score');
  if (given === null || given === 'none') {
    return given === null ? undefined : null;
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

function episodeLines({ episode, score, note: words, tags, isReturn }: NotedEpisode): readonly string[] {
  const scored = score === null ? 'no score by hand' : `${BY_HAND}: ${String(score)}`;
  const counts = score === null ? '' : isReturn ? ', which is its return' : ', beside what it returned';
  return [`episode ${String(episode)}, ${scored}${counts}`, tags.join(', '), words].filter((line) => line !== '');
}

export async function deleteCommand(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, signal } = context;
  const parsed = readArguments('delete', args, { ...STORE, ...JSON_FLAG }, 1);
  const [run] = parsed.positionals;
  if (run === undefined) {
    throw new C3Error('input', 'c3 delete needs a run.');
  }
  await withService(parsed, context, async (service) => {
    const bytes = await service.deleteRun(run, signal);
    print(
      parsed.values['json'] === true
        ? JSON.stringify({ run, bytes })
        : `Run ${run} is deleted; ${bytesWords(bytes)} are free now.`,
    );
  });
}
