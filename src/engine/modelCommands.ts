/** `c3 model` and `c3 plan`: what a folder is, and what a run would need. */
import { resolve } from 'node:path';
import { C3Error } from '../shared/errors.ts';
import { readArguments, type ParsedArguments } from './arguments.ts';
import { inspectModel } from './modelFacts.ts';
import { testModel } from './modelTest.ts';
import { planRun } from './plan.ts';
import { factsTable, planTable, stepLine } from './planWords.ts';
import { readRecipe } from './recipe.ts';

/** Where a command is called, and who hears of it. */
export interface ModelCommandContext {
  /** The current folder. */
  readonly folder: string;
  readonly cancelled: () => boolean;
  readonly print: (line: string) => void;
  /** How far a large model is loaded, in bytes. */
  readonly onLoading: (done: number, total: number) => void;
}

const JSON_FLAG = { json: { type: 'boolean' } } as const;
const asJson = ({ values }: ParsedArguments): boolean => values['json'] === true;

/** Prints the facts of a folder, and with --test tries it. @throws C3Error('model') where the folder cannot be used, or failed its self-test; CancelledError */
export async function modelCommand(args: readonly string[], { folder, cancelled, print, onLoading }: ModelCommandContext): Promise<void> {
  const parsed = readArguments('model', args, { ...JSON_FLAG, test: { type: 'boolean' } }, 1);
  const given = parsed.positionals[0];
  if (given === undefined) throw new C3Error('input', 'c3 model needs a folder that holds config.json, model.safetensors and tokenizer.json.');
  const path = resolve(folder, given);
  const facts = await inspectModel(path);
  const json = asJson(parsed);
  if (!json) print(factsTable(facts));
  if (parsed.values['test'] !== true) {
    if (json) print(JSON.stringify(facts));
    return;
  }
  const steps = await testModel(path, 'cpu', {
    cancelled,
    onProgress: (progress) => {
      if (progress.kind === 'load') onLoading(progress.done, progress.total);
      else if (!json) print(stepLine(progress.step));
    },
  });
  if (json) print(JSON.stringify({ ...facts, selfTest: steps }));
  const failed = steps.find(({ passed }) => !passed);
  if (failed !== undefined) throw new C3Error('model', `The self-test of ${path} failed at ${failed.name.toLowerCase()}: ${failed.detail}`);
}

/** Prints what a run would need and cost. A plan that does not fit is printed like any other. @throws C3Error as `c3 run` would, for a configuration that cannot be used */
export async function planCommand(args: readonly string[], { folder, print }: ModelCommandContext): Promise<void> {
  const parsed = readArguments('plan', args, { ...JSON_FLAG, override: { type: 'string', multiple: true } }, 1);
  const overrides = parsed.values['override'];
  const recipe = await readRecipe(parsed.positionals[0] ?? null, Array.isArray(overrides) ? overrides.map(String) : [], folder);
  const plan = await planRun(recipe);
  print(asJson(parsed) ? JSON.stringify(plan) : planTable(plan));
}
