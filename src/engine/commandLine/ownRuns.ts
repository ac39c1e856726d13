/** `c3 note` and `c3 delete`: what a user does with the runs of a store. */
import { tagsOf } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import { bytesWords } from '../../shared/text/sizes.ts';
import { readArguments, text, texts } from './arguments.ts';
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
  } as const;
  const parsed = readArguments('note', args, options, 1);
  const [run] = parsed.positionals;
  const [title, words] = [text(parsed, 'title'), text(parsed, 'note')];
  const tags = parsed.values['tags'] === undefined ? null : texts(parsed, 'tags');
  if (run === undefined || (title === null && words === null && tags === null)) {
    throw new C3Error('input', 'c3 note needs a run, and --title, --note or --tags.');
  }
  await withService(parsed, context, async (service) => {
    const noted = await service.noteRun(
      {
        run,
        ...(title !== null && { title }),
        ...(words !== null && { note: words }),
        ...(tags !== null && { tags: tagsOf(tags.join(',')) }),
      },
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
