/** `c3 replace`: a run that goes on with the team of another one, a policy of it replaced. */
import { C3Error } from '../../shared/errors.ts';
import { REPLACE_STRATEGIES } from '../../shared/protocols/engineProtocol.ts';
import { replacementOf, shockWords } from '../../domain/run.ts';
import { readRecipe } from '../recipe/recipe.ts';
import { readArguments, text } from './arguments.ts';
import { detach } from './jobs.ts';
import { resumable } from './runs.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, STORE, withService } from './support.ts';
import { summaryWords } from './words.ts';

/**
 * Replaces a policy of a trained team, and runs what begins so.
 * @throws C3Error; CancelledError, after which the run can be resumed
 */
export async function replace(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, note } = context;
  const options = {
    ...STORE,
    ...JSON_FLAG,
    strategy: { type: 'string' },
    override: { type: 'string', multiple: true },
    detach: { type: 'boolean' },
  } as const;
  const parsed = readArguments('replace', args, options, 2);
  const [run, swap = ''] = parsed.positionals;
  const at = swap.indexOf('=');
  if (run === undefined || at < 1) {
    throw new C3Error(
      'input',
      'c3 replace needs a run, and a role with what takes its place: c3 replace RUN ROLE=SOURCE; SOURCE is base, bundled-small, a folder, or RUN:STEP:ROLE.',
    );
  }
  const given = text(parsed, 'strategy') ?? 'align';
  const strategy = REPLACE_STRATEGIES.find((name) => name === given);
  if (strategy === undefined) {
    throw new C3Error(
      'input',
      `--strategy is one of ${REPLACE_STRATEGIES.join(', ')}, not ${JSON.stringify(given.slice(0, 40))}.`,
    );
  }
  const overrides = parsed.values['override'];
  const { folder } = context;
  const params = {
    run,
    role: swap.slice(0, at),
    source: swap.slice(at + 1),
    strategy,
    overrides: Array.isArray(overrides) ? overrides.map(String) : [],
    folder,
  };
  await withService(parsed, context, async (service) => {
    await service.updated(context.signal);
    const started = service.replacement(params);
    const recipe = await readRecipe(null, started.overrides, started.folder ?? folder);
    if (strategy === 'retrain') {
      note(`Retraining has seed ${recipe.config.seed}; --override seed=N gives it another one.`);
    }
    if (parsed.values['detach'] === true) {
      await detach({ ...started, resumed: null, again: null }, parsed, {
        ...context,
        folder: started.folder ?? folder,
      });
      return;
    }
    const summary = await resumable(context, (onProgress) =>
      service.run(recipe, { signal: context.signal, onProgress }, note),
    );
    const replacement = service.reading((store) => replacementOf(store.runConfig(summary.run)));
    if (parsed.values['json'] === true) {
      print(JSON.stringify({ ...summary, replacement }));
    } else {
      const shock = replacement?.shock ?? null;
      print(`\n${summaryWords(summary)}${shock === null ? '' : `\n${shockWords(shock)}`}`);
    }
  });
}
