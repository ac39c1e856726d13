/** Writes the output of a run besides the store, as configured in section `output`. */

import { join, resolve } from 'node:path';
import type { RunSummary } from '../../domain/run.ts';
import { toErrorMessage } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import type { StoreReader } from '../../store/types.ts';
import type { RunControl } from '../../training/runContext.ts';
import type { Recipe } from '../recipe/recipe.ts';

/** Most episodes of a step that are printed, and most characters of a message. */
const MOST_EPISODES = 8;
const MOST_CHARACTERS = 200;

type Episodes = Pick<StoreReader, 'episodes' | 'chain'>;

/** Returns the control of a run. With `output.verbose`, it also prints the samples of each step. */
export function printSteps(
  { config }: Pick<Recipe, 'config'>,
  control: RunControl,
  onRemark: (remark: string) => void,
  reading: (work: (store: Episodes) => readonly string[]) => readonly string[],
): RunControl {
  if (!config.output.verbose) {
    return control;
  }
  return {
    ...control,
    onProgress: (progress) => {
      control.onProgress(progress);
      const { run, stage, metrics, done } = progress;
      if (run !== null && stage === 'train' && metrics !== null) {
        reading((store) => formatStep(store, run, done)).forEach(onRemark);
      }
    },
  };
}

/** Formats the messages and returns of the first question of a step, one episode a line. */
export function formatStep(store: Episodes, run: string, iteration: number): readonly string[] {
  const episodes = store.episodes({ run, phase: 'train', iteration, offset: 0, limit: MOST_EPISODES });
  const [first] = episodes;
  if (first === undefined) {
    return [];
  }
  const lines = episodes
    .filter(({ problem }) => problem === first.problem)
    .map(({ leaf, return: value, rule }) => {
      const said = store.chain(leaf).map(({ role, text }) => `${role}: ${toOneLine(text, MOST_CHARACTERS)}`);
      const scored = value === null ? 'not scored' : `return ${value.toFixed(3)}`;
      return `  ${[...said, `${scored} (${toOneLine(rule, MOST_CHARACTERS)})`].join(' | ')}`;
    });
  return [`Step ${iteration}, ${JSON.stringify(toOneLine(first.question, MOST_CHARACTERS))}:`, ...lines];
}

/**
 * With `output.save_model`, writes the trained weights of a finished run. The run stays stored even
 * if that fails.
 * @param exporting writes the weights in a format to a folder, and returns the folders to load
 */
export async function saveModel(
  { config, folder }: Pick<Recipe, 'config' | 'folder'>,
  { run, steps }: Pick<RunSummary, 'run' | 'steps'>,
  onRemark: (remark: string) => void,
  exporting: (format: 'model' | 'adapter', out: string) => Promise<readonly string[]>,
): Promise<void> {
  if (!config.output.save_model) {
    return;
  }
  if (steps === 0) {
    onRemark('output.save_model: nothing was trained, so nothing is saved.');
    return;
  }
  const format = config.adapter === null ? 'model' : 'adapter';
  const out = resolve(folder, config.output.save_path ?? join('output', run));
  try {
    const folders = await exporting(format, out);
    onRemark(`output.save_model: the trained weights are in ${folders.join(' and ')}.`);
  } catch (error) {
    const later = `c3 export --run ${run} --format ${format} --out FOLDER`;
    onRemark(`output.save_model: ${toErrorMessage(error)} The run is stored; \`${later}\` saves its weights.`);
  }
}
