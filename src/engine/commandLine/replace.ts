/** `c3 replace`: a run that continues with the team of another run, with one policy replaced. */

import { readReplacement, describeSwapShock } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import { readRecipe } from '../recipe/recipe.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { REPLACE } from './declared/runs.ts';
import { detachRun } from './jobs.ts';
import { runResumably } from './runs.ts';
import { withService } from './support.ts';
import { formatSummary } from './words.ts';

/**
 * Replaces a policy of a trained team, and runs the new team.
 * @throws C3Error; CancelledError, after which the run can be resumed
 */
export async function replace(given: Given<typeof REPLACE>, context: CommandContext): Promise<void> {
  const { print, note } = context;
  const { swap, strategy } = given;
  const at = swap.indexOf('=');
  if (at < 1) {
    throw new C3Error(
      'input',
      'c3 replace needs a run, and a role with its replacement: c3 replace RUN ROLE=SOURCE; SOURCE is base, bundled-small, a folder, or RUN:STEP:ROLE.',
    );
  }
  const { folder } = context;
  const params = {
    run: given.run,
    role: swap.slice(0, at),
    source: swap.slice(at + 1),
    strategy,
    overrides: given.override,
    folder,
  };
  await withService(given, context, async (service) => {
    await service.updated(context.signal);
    const started = service.replacement(params);
    const recipe = await readRecipe(null, started.overrides, started.folder ?? folder);
    if (strategy === 'retrain') {
      note(`Retraining uses seed ${recipe.config.seed}; --override seed=N sets another one.`);
    }
    if (given.detach) {
      await detachRun({ ...started, resumed: null, again: null }, given, {
        ...context,
        folder: started.folder ?? folder,
      });
      return;
    }
    const summary = await runResumably(context, (onProgress) =>
      service.run(recipe, { signal: context.signal, onProgress }, note),
    );
    const replacement = service.reading((store) => readReplacement(store.runConfig(summary.run)));
    if (given.json) {
      print(JSON.stringify({ ...summary, replacement }));
    } else {
      const shock = replacement?.shock ?? null;
      print(`\n${formatSummary(summary)}${shock === null ? '' : `\n${describeSwapShock(shock)}`}`);
    }
  });
}
