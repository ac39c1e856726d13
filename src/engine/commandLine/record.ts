/** `c3 record`: stores the model requests of a user's own program while it runs. */

import { describeImport, type Recorded } from '../../domain/episode.ts';
import { rightAnswer } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import { parseSpeakerRenames } from '../../shared/speakerNames.ts';
import { record as recordProgram, findUpstream, type RecordSettings } from '../record/recordProgram.ts';
import { serveFolder } from '../serve/ownServer.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { RECORD } from './declared/programs.ts';
import { findServedFolder } from './serve.ts';
import { createLoadingPrinter, withService } from './support.ts';

type Answering = Pick<RecordSettings, 'upstream' | 'served'>;

/**
 * Runs the program after `--` to its end.
 * @throws C3Error('input') for wrong arguments, and, after everything is stored, if a renamed speaker
 *   did not speak; C3Error('engine') if the program failed, after everything is stored
 */
export async function record(given: Given<typeof RECORD>, context: CommandContext): Promise<void> {
  const { print, streams } = context;
  const { json, maskSecrets, answer } = given;
  const [program, ...rest] = given.rest;
  if (program === undefined) {
    throw new C3Error('input', 'c3 record needs the program after --, such as `c3 record -- node team.mjs`.');
  }
  const renames = parseSpeakerRenames(given.rename);
  const { report, ended, fault } = await withAnsweringServer(given, context, (served) =>
    withService(given, context, (service): Promise<Recorded> => {
      const right = answer === null ? null : rightAnswer(answer);
      const settings = {
        command: [program, ...rest],
        folder: context.folder,
        maskSecrets,
        renames,
        right,
        quiet: json,
        env: streams.env,
        ...(!streams.areInherited && { streams }),
      } as const;
      return recordProgram(service, { ...settings, ...served }, context.signal);
    }),
  );
  print(json ? JSON.stringify({ ...report, ended }) : describeImport(report).join('\n'));
  const further = fault === null ? '' : `${fault} Everything is stored, under the original names.`;
  if (ended !== 0) {
    const how = typeof ended === 'number' ? `exit code ${ended}` : ended;
    throw new C3Error('engine', `The program ended with ${how}; what it said before is stored. ${further}`.trim());
  }
  if (fault !== null) {
    throw new C3Error('input', further);
  }
}

/** Does work while a server answers the program: the named one, or one that serves a model here. */
async function withAnsweringServer<Result>(
  given: Given<typeof RECORD>,
  context: CommandContext,
  work: (answering: Answering) => Promise<Result>,
): Promise<Result> {
  const { note } = context;
  const { upstream } = given;
  if (given.model === null && given.task === null) {
    return work({ upstream: findUpstream(upstream, context.streams.env), served: null });
  }
  if (upstream !== null) {
    throw new C3Error('input', 'Give --upstream, or a model that is served here, not both.');
  }
  const { folder, name } = findServedFolder(given, context);
  await using own = await serveFolder({ folder, name: given.name ?? name }, createLoadingPrinter(context));
  note(`${own.model} answers the program.`);
  return await work({ upstream: own.url, served: { model: own.model, key: own.key } });
}
