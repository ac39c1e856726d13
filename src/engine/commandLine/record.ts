/** `c3 record`: what a user's own program asks of models, stored while it runs. */
import { C3Error } from '../../shared/errors.ts';
import { importLines, type Recorded } from '../../domain/episode.ts';
import { renamesOf } from '../../shared/speakerNames.ts';
import { rightAnswer } from '../../domain/problem.ts';
import { record as recordProgram, upstreamOf, type RecordSettings } from '../record/recordProgram.ts';
import { serveFolder } from '../serve/ownServer.ts';
import { readArguments, text, texts, type ParsedArguments } from './arguments.ts';
import { servedFolder } from './serve.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, loadingPrinter, STORE, withService } from './support.ts';

type Answering = Pick<RecordSettings, 'upstream' | 'served'>;

/**
 * Runs the program after `--` to its end.
 * @throws C3Error('input') for arguments that are wrong, and, once all is stored, for another name of somebody who did
 *   not speak; C3Error('engine') where the program failed, once all is stored
 */
export async function record(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, streams } = context;
  const at = args.indexOf('--');
  const [program, ...rest] = at < 0 ? [] : args.slice(at + 1);
  const options = {
    ...STORE,
    ...JSON_FLAG,
    upstream: { type: 'string' },
    model: { type: 'string' },
    task: { type: 'string' },
    name: { type: 'string' },
    'mask-secrets': { type: 'boolean' },
    rename: { type: 'string', multiple: true },
    answer: { type: 'string' },
  } as const;
  const parsed = readArguments('record', at < 0 ? args : args.slice(0, at), options, 0);
  if (program === undefined) {
    throw new C3Error('input', 'c3 record needs the program behind --, such as `c3 record -- node team.mjs`.');
  }
  const json = parsed.values['json'] === true;
  const renames = renamesOf(texts(parsed, 'rename'));
  const { report, ended, fault } = await answering(parsed, context, (served) =>
    withService(parsed, context, (service): Promise<Recorded> => {
      const maskSecrets = parsed.values['mask-secrets'] === true;
      const said = text(parsed, 'answer');
      const right = said === null ? null : rightAnswer(said);
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
  print(json ? JSON.stringify({ ...report, ended }) : importLines(report).join('\n'));
  const further = fault === null ? '' : `${fault} All is stored, with the names that they had.`;
  if (ended !== 0) {
    const how = typeof ended === 'number' ? `exit code ${String(ended)}` : ended;
    throw new C3Error('engine', `The program ended with ${how}; what it said before is stored. ${further}`.trim());
  }
  if (fault !== null) {
    throw new C3Error('input', further);
  }
}

/** What answers while something works: the server that is named, or a model that is served here. */
async function answering<Result>(
  parsed: ParsedArguments,
  context: CommandContext,
  work: (answering: Answering) => Promise<Result>,
): Promise<Result> {
  const { note } = context;
  const named = text(parsed, 'upstream');
  if (text(parsed, 'model') === null && text(parsed, 'task') === null) {
    return work({ upstream: upstreamOf(named, context.streams.env), served: null });
  }
  if (named !== null) {
    throw new C3Error('input', 'Give --upstream, or a model that is served here, not both.');
  }
  const { folder, name } = servedFolder(parsed, context);
  await using own = await serveFolder({ folder, name: text(parsed, 'name') ?? name }, loadingPrinter(context));
  note(`The program is answered by ${own.model}.`);
  return await work({ upstream: own.url, served: { model: own.model, key: own.key } });
}
