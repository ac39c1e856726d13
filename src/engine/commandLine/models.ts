/**
 * `c3 model`, `plan`, `generate` and `score`: what a folder is, what a run would need, what a model says and how likely
 * it finds texts.
 */
import { resolve } from 'node:path';
import { DEFAULT_PROVIDER } from '../../shared/devices.ts';
import { C3Error } from '../../shared/errors.ts';
import { readArguments, text, whole, type ParsedArguments } from './arguments.ts';
import { generateLines } from '../lines/generateLines.ts';
import { takeLineModel } from '../lines/lineModel.ts';
import { inspectModel } from '../models/modelFacts.ts';
import { testModel } from '../models/modelTest.ts';
import { factsTable, planTable, rhoTable, stepLine } from './planWords.ts';
import { readRecipe } from '../recipe/recipe.ts';
import { PILOT_DEFAULTS, type PilotSettings } from '../run/pilot.ts';
import { scoreLines } from '../lines/scoreLines.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, loadingPrinter, STORE, withService } from './support.ts';

const MODEL = { model: { type: 'string' }, adapter: { type: 'string' } } as const;
const asJson = ({ values }: ParsedArguments): boolean => values['json'] === true;

/**
 * Prints the facts of a folder, and with --test tries it.
 * @throws C3Error('model') where the folder cannot be used, or failed its self-test; CancelledError
 */
export async function modelCommand(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments('model', args, { ...JSON_FLAG, test: { type: 'boolean' } }, 1);
  const given = parsed.positionals[0];
  if (given === undefined) {
    throw new C3Error('input', 'c3 model needs a folder that holds config.json, model.safetensors and tokenizer.json.');
  }
  const path = resolve(context.folder, given);
  const facts = await inspectModel(path);
  const json = asJson(parsed);
  if (!json) {
    print(factsTable(facts));
  }
  if (parsed.values['test'] !== true) {
    if (json) {
      print(JSON.stringify(facts));
    }
    return;
  }
  const { onProgress: onLoading } = loadingPrinter(context);
  const steps = await testModel(path, DEFAULT_PROVIDER, {
    signal: context.signal,
    onProgress: (progress) => {
      if (progress.kind === 'load') {
        onLoading?.(progress.done, progress.total);
      } else if (!json) {
        print(stepLine(progress.step));
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
export async function planCommand(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, note } = context;
  const parsed = readArguments(
    'plan',
    args,
    {
      ...STORE,
      ...JSON_FLAG,
      override: { type: 'string', multiple: true },
      rho: { type: 'boolean' },
      questions: { type: 'string' },
      alternatives: { type: 'string' },
      replays: { type: 'string' },
    },
    1,
  );
  const pilot = pilotSettings(parsed);
  const overrides = parsed.values['override'];
  const recipe = await readRecipe(
    parsed.positionals[0] ?? null,
    Array.isArray(overrides) ? overrides.map(String) : [],
    context.folder,
  );
  for (const line of recipe.notes ?? []) {
    note(line);
  }
  await withService(parsed, context, async (service) => {
    const plan = await service.plan(recipe, context.signal);
    const rho = pilot === null ? null : await service.pilot(recipe, pilot, context.signal);
    if (asJson(parsed)) {
      print(JSON.stringify(rho === null ? plan : { ...plan, rho }));
    } else {
      print([planTable(plan), ...(rho === null ? [] : ['', rhoTable(rho)])].join('\n'));
    }
  });
}

/** What --rho is to measure on; null without it. */
function pilotSettings(parsed: ParsedArguments): PilotSettings | null {
  if (parsed.values['rho'] !== true) {
    const needless = Object.keys(PILOT_DEFAULTS).find((key) => parsed.values[key] !== undefined);
    if (needless !== undefined) {
      throw new C3Error('input', `--${needless} configures the measurement of rho; add --rho.`);
    }
    return null;
  }
  return {
    questions: whole(parsed, 'questions', 2, PILOT_DEFAULTS.questions),
    alternatives: whole(parsed, 'alternatives', 2, PILOT_DEFAULTS.alternatives),
    replays: whole(parsed, 'replays', 2, PILOT_DEFAULTS.replays),
  };
}

export async function generate(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const options = {
    ...MODEL,
    greedy: { type: 'boolean' },
    'max-new': { type: 'string' },
    seed: { type: 'string' },
    thinking: { type: 'boolean' },
  } as const;
  const parsed = readArguments('generate', args, options, 0);
  const settings = {
    greedy: parsed.values['greedy'] === true,
    maxNew: text(parsed, 'max-new') === null ? null : whole(parsed, 'max-new', 1, 1),
    seed: whole(parsed, 'seed', 0, 0),
    thinking: parsed.values['thinking'] === true,
  };
  const folder = modelFolder('generate', parsed, context);
  await using model = await takeLineModel(folder, adapterFolder(parsed, context), loadingPrinter(context));
  for await (const line of generateLines(context.streams.stdin, model, settings, context.signal)) {
    print(line);
  }
}

export async function score(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments('score', args, MODEL, 0);
  const folder = modelFolder('score', parsed, context);
  await using model = await takeLineModel(folder, adapterFolder(parsed, context), loadingPrinter(context));
  for await (const line of scoreLines(context.streams.stdin, model, context.signal)) {
    print(line);
  }
}

/** The folder that --model names. */
function modelFolder(command: string, parsed: ParsedArguments, { folder }: CommandContext): string {
  const model = text(parsed, 'model');
  if (model === null) {
    throw new C3Error(
      'input',
      `c3 ${command} needs --model with a folder that holds config.json, model.safetensors and tokenizer.json.`,
    );
  }
  return resolve(folder, model);
}

/** The folder that --adapter names; null without it. */
function adapterFolder(parsed: ParsedArguments, { folder }: CommandContext): string | null {
  const adapter = text(parsed, 'adapter');
  return adapter === null ? null : resolve(folder, adapter);
}
