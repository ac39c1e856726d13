/** `c3 infer`: the protocol of a recorded episode as a team file, for the user to read and confirm. */
import { inferredTeam } from '../../logs/recordedEpisode.ts';
import { messageNumber, readArguments, text } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { STORE, withService } from './support.ts';

export async function infer(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const options = { ...STORE, endpoint: { type: 'string' }, 'model-name': { type: 'string' } } as const;
  const parsed = readArguments('infer', args, options, 1);
  const message = messageNumber('infer', parsed);
  const named = { endpoint: text(parsed, 'endpoint'), model: text(parsed, 'model-name') };
  await withService(parsed, context, (service) => {
    print(service.reading((store) => inferredTeam(store, message, named)).trimEnd());
    return Promise.resolve();
  });
}
