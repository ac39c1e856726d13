/** How fast earlier runs of a store went that were like the one that is planned. */
import type { NumericEnvironment } from '../../../domain/snapshot.ts';
import { C3Error } from '../../../shared/errors.ts';
import type { StoreReader } from '../../../store/types.ts';
import type { Pace } from '../../../training/measure/remaining.ts';
import { methodReads, plannedRollouts } from '../../../training/methods/methods.ts';
import { parseRecipe, protocolOf, type Recipe } from '../../recipe/recipe.ts';

/** Runs that are looked at, newest first, and those of them that are enough. */
const LOOKED_AT = 40;
const ENOUGH = 5;

/**
 * The paces of the newest runs with the same model, team, task, fan-out and machine; steps are scaled by problems.
 * @param problems of a step of the planned run
 * @param steps whether it trains: then only runs that trained say something
 */
export function earlierPaces(
  store: StoreReader,
  recipe: Recipe,
  here: NumericEnvironment,
  problems: number,
  steps: boolean,
): readonly Pace[] {
  const wanted = likeness(recipe);
  const paces: Pace[] = [];
  for (const { id } of store.runs(0, LOOKED_AT)) {
    if (paces.length === ENOUGH) {
      break;
    }
    const earlier = readable(store, id);
    if (earlier === null || likeness(earlier) !== wanted || !wasMadeOn(store, id, here)) {
      continue;
    }
    const pace = paceOfRun(store, id, steps);
    const scale = problems / Math.max(1, earlier.config.instances_per_step);
    if (pace !== null) {
      paces.push({ ...pace, step: pace.step * scale });
    }
  }
  return paces;
}

/** What must be the same for the time of one run to say something of another's. */
function likeness(recipe: Recipe): string {
  const { config, modelFolder, protocolText } = recipe;
  const { train_file: trainFile, evaluation_file: evaluationFile, name } = config.task;
  const rollouts =
    config.steps === 0
      ? null
      : plannedRollouts(config, protocolOf(recipe)).map(({ fanout, shape }) => [shape ?? 'nested', ...fanout]);
  const { evaluator, adapter, sampling, ppo, memory, device, prompts = {} } = config;
  const ownPolicies = Object.keys(config.policies ?? {}).sort();
  const settings = [
    prompts,
    ownPolicies,
    evaluator,
    adapter,
    sampling.max_new_tokens,
    ppo.epochs,
    ppo.mini_batches,
    memory.recompute,
    device.precision,
    ...(methodReads(config.method, 'teamtr') ? [config.teamtr.epochs, config.teamtr.kl_estimator] : []),
  ];
  return JSON.stringify([modelFolder, protocolText, name, trainFile, evaluationFile, rollouts, ...settings]);
}

/** A stored recipe; null for one that this version cannot read. */
function readable(store: StoreReader, run: string): Recipe | null {
  try {
    return parseRecipe(store.runConfig(run), run);
  } catch (error) {
    if (error instanceof C3Error) {
      return null;
    }
    throw error;
  }
}

function wasMadeOn(store: StoreReader, run: string, here: NumericEnvironment): boolean {
  const [first] = store.costs(run);
  if (first === undefined) {
    return false;
  }
  const { provider, device, threads, platform } = store.environment(first.environment);
  return provider === here.provider && device === here.device && threads === here.threads && platform === here.platform;
}

/** Seconds per evaluated episode and per finished step; null where the run has not shown both. */
function paceOfRun(store: StoreReader, run: string, steps: boolean): Pace | null {
  const account = store.account(run);
  const finished = store.run(run).steps;
  const episodes = store
    .evaluationNumbers(run)
    .reduce((total, iteration) => total + store.countEpisodes({ run, phase: 'evaluate', iteration }), 0);
  if (account === null || episodes === 0 || (steps && finished === 0)) {
    return null;
  }
  return {
    episode: Math.max(0, account.seconds - account.trainingSeconds) / episodes,
    step: finished === 0 ? 0 : account.trainingSeconds / finished,
  };
}
