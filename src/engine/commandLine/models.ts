/** `c3 model`, `plan`, `generate` and `score`: examine models, plan runs, generate and score texts. */

import { resolve } from 'node:path';
import { DEFAULT_PROVIDER } from '../../shared/devices.ts';
import { C3Error } from '../../shared/errors.ts';
import { generateLines } from '../lines/generateLines.ts';
import { takeLineModel } from '../lines/lineModel.ts';
import { scoreLines } from '../lines/scoreLines.ts';
import { inspectModel } from '../models/modelFacts.ts';
import { testModel } from '../models/modelTest.ts';
import { readRecipe } from '../recipe/recipe.ts';
import type { PilotSettings } from '../run/pilot.ts';
import type { CommandContext } from './command.ts';
import type { Given, OptionsGiven } from './declared/declaration.ts';
import type { GENERATE, SCORE } from './declared/lines.ts';
import type { MODEL_FOLDER } from './declared/machine.ts';
import type { ADAPTER, MODEL } from './declared/options.ts';
import type { PLAN } from './declared/runs.ts';
import { formatFacts, formatPlan, formatRho, formatSelfTestStep } from './planWords.ts';
import { createLoadingPrinter, withService } from './support.ts';

/**
 * Prints the facts of a model folder, and tests the model if --test is given.
 * @throws C3Error('model') if the folder cannot be used, or failed its self-test; CancelledError
 */
export async function modelCommand(given: Given<typeof MODEL_FOLDER>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { json } = given;
  const path = resolve(context.folder, given.folder);
  const facts = await inspectModel(path);
  if (!json) {
    print(formatFacts(facts));
  }
  if (!given.test) {
    if (json) {
      print(JSON.stringify(facts));
    }
    return;
  }
  const { onProgress: onLoading } = createLoadingPrinter(context);
  const steps = await testModel(path, DEFAULT_PROVIDER, {
    signal: context.signal,
    onProgress: (progress) => {
      if (progress.kind === 'load') {
        onLoading?.(progress.done, progress.total);
      } else if (!json) {
        print(formatSelfTestStep(progress.step));
      }
    },
  });
  if (json) {
    print(JSON.stringify({ ...facts, selfTest: steps }));
  }
  const failed = steps.find(({ passed }) => !passed);
  if (failed !== undefined) {
    throw new C3Error('model', `The self-test of ${path} failed at ${failed.name.toLowerCase()}: ${failed.detail}`);
  }
}

/**
 * Prints what a run would need and cost. A plan that does not fit is printed like any other.
 * @throws C3Error as `c3 run` would, for a configuration that cannot be used
 */
export async function planCommand(given: Given<typeof PLAN>, context: CommandContext): Promise<void> {
  const { print, note } = context;
  const pilot = readPilotSettings(given);
  const recipe = await readRecipe(given.config, given.override, context.folder);
  for (const line of recipe.notes ?? []) {
    note(line);
  }
  await withService(given, context, async (service) => {
    const plan = await service.plan(recipe, context.signal);
    const rho = pilot === null ? null : await service.pilot(recipe, pilot, context.signal);
    if (given.json) {
      print(JSON.stringify(rho === null ? plan : { ...plan, rho }));
    } else {
      print([formatPlan(plan), ...(rho === null ? [] : ['', formatRho(rho)])].join('\n'));
    }
  });
}

/** Returns the settings of --rho, or null without it. */
function readPilotSettings(given: Given<typeof PLAN>): PilotSettings | null {
  const { questions, alternatives, replays } = given;
  if (!given.rho) {
    const needless = (['questions', 'alternatives', 'replays'] as const).find((name) => given.named.has(name));
    if (needless !== undefined) {
      throw new C3Error('input', `--${needless} configures the measurement of rho; add --rho.`);
    }
    return null;
  }
  return { questions, alternatives, replays };
}

export async function generate(given: Given<typeof GENERATE>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { greedy, maxNew, seed, thinking } = given;
  const settings = { greedy, maxNew, seed, thinking };
  await using model = await takeGivenModel(given, context);
  for await (const line of generateLines(context.streams.stdin, model, settings, context.signal)) {
    print(line);
  }
}

export async function score(given: Given<typeof SCORE>, context: CommandContext): Promise<void> {
  const { print } = context;
  await using model = await takeGivenModel(given, context);
  for await (const line of scoreLines(context.streams.stdin, model, context.signal)) {
    print(line);
  }
}

/** Loads the model that --model names, with the adapter of --adapter. */
const takeGivenModel = (
  given: OptionsGiven<typeof MODEL & typeof ADAPTER>,
  context: CommandContext,
): ReturnType<typeof takeLineModel> => {
  const { folder } = context;
  const adapter = given.adapter === null ? null : resolve(folder, given.adapter);
  return takeLineModel(resolve(folder, given.model), adapter, createLoadingPrinter(context));
};
