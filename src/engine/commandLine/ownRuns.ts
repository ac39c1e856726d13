/** `c3 note` and `c3 delete`: what a user does with the runs of a store. */
import { tagsOf } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import { bytesWords } from '../../shared/text/sizes.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { DELETE, NOTE } from './declared/results.ts';
import { withService } from './support.ts';

export async function note(given: Given<typeof NOTE>, context: CommandContext): Promise<void> {
  const { print, signal } = context;
  const { run } = given;
  if (given.title === null && given.note === null && given.tags.length === 0) {
    throw new C3Error('input', 'c3 note needs --title, --note or --tags.');
  }
  await withService(given, context, async (service) => {
    const noted = await service.noteRun(
      {
        run,
        ...(given.title !== null && { title: given.title }),
        ...(given.note !== null && { note: given.note }),
        ...(given.tags.length > 0 && { tags: tagsOf(given.tags.join(',')) }),
      },
      signal,
    );
    print(
      given.json
        ? JSON.stringify({ run, ...noted })
        : [`${run}: ${noted.title}`, ...(noted.tags.length === 0 ? [] : [noted.tags.join(', ')]), noted.note]
            .filter((line) => line !== '')
            .join('\n'),
    );
  });
}

export async function deleteCommand(given: Given<typeof DELETE>, context: CommandContext): Promise<void> {
  const { print, signal } = context;
  const { run } = given;
  await withService(given, context, async (service) => {
    const bytes = await service.deleteRun(run, signal);
    print(given.json ? JSON.stringify({ run, bytes }) : `Run ${run} is deleted; ${bytesWords(bytes)} are free now.`);
  });
}
