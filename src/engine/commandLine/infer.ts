/** `c3 infer`: prints the protocol of a recorded episode as a team file, which the user corrects. */

import { writeInferredTeam } from '../../logs/recordedEpisode.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { INFER } from './declared/programs.ts';
import { withService } from './support.ts';

export async function infer(given: Given<typeof INFER>, context: CommandContext): Promise<void> {
  const named = { endpoint: given.endpoint, model: given.modelName };
  await withService(given, context, (service) => {
    context.print(service.reading((store) => writeInferredTeam(store, given.message, named)).trimEnd());
    return Promise.resolve();
  });
}
