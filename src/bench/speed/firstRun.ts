/**
 * `c3 bench first-run`: the cost and the gain of a new user's first run, with three seeds, and the
 * time until a replay shows its first alternative.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Interval } from '../../domain/credit.ts';
import type { RunSummary } from '../../domain/run.ts';
import { readRecipe } from '../../engine/recipe/recipe.ts';
import { EngineService } from '../../engine/service.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import {
  makeFigure,
  describeHardware,
  takeMedian,
  type BenchFigure,
  type BenchReport,
  type TeamBenchOptions,
} from '../report.ts';

const SEEDS = [0, 1, 2];
const CLICKS = 15;

/**
 * Measures whole runs. The quick form is one seed with a tenth of the steps.
 * @throws CancelledError; C3Error
 */
export async function benchFirstRun({ quick, config, folder, signal, note }: TeamBenchOptions): Promise<BenchReport> {
  const { steps, evaluation } = (await readRecipe(config, [], folder)).config;
  const shortened = [`steps=${Math.ceil(steps / 10)}`, `evaluation.instances=${Math.min(64, evaluation.instances)}`];
  const figures: BenchFigure[] = [];
  const add = (name: string, value: number | null, unit: string): void => {
    figures.push(makeFigure(name, value, unit));
  };
  for (const seed of quick ? SEEDS.slice(0, 1) : SEEDS) {
    const home = createTemporaryFolder('bench');
    const service = new EngineService(join(home, 'c3.sqlite'));
    try {
      const recipe = await readRecipe(config, [`seed=${seed}`, ...(quick ? shortened : [])], folder);
      const started = performance.now();
      let first: number | null = null;
      const estimates: { readonly seconds: number; readonly at: number }[] = [];
      const summary = await service.run(recipe, {
        signal,
        onProgress: ({ stage, done, remainingSeconds }) => {
          if (stage === 'load' && remainingSeconds !== null) {
            estimates.push({ seconds: remainingSeconds, at: performance.now() });
          }
          if (first === null && stage !== 'load' && done > 0) {
            first = (performance.now() - started) / 1000;
          }
        },
      });
      const prefix = `seed ${seed}:`;
      add(`${prefix} first transcript stored`, first, 's');
      add(`${prefix} training`, summary.seconds, 's');
      const ended = performance.now();
      add(`${prefix} whole run`, (ended - started) / 1000, 's');
      const [estimate] = estimates;
      add(`${prefix} estimated before it`, estimate?.seconds ?? null, 's');
      add(
        `${prefix} time taken against the estimate`,
        estimate === undefined ? null : (ended - estimate.at) / 1000 / estimate.seconds,
        'x',
      );
      addAccuracy(add, `${prefix} greedy accuracy`, summary.accuracy);
      addAccuracy(add, `${prefix} pass@1`, summary.passAt1);
      add(`${prefix} evaluator calls`, summary.evaluatorCalls, '');
      add(`${prefix} reused evaluations`, summary.reusedEvaluations ?? 0, '');
      add(
        `${prefix} replay click to first alternative, median`,
        await measureMedianClick(service, summary, signal),
        'ms',
      );
    } finally {
      await service.close();
      await rm(home, { recursive: true, force: true });
    }
    note(`seed ${seed} done`);
  }
  return { suite: 'first-run', figures, hardware: describeHardware('CPU provider') };
}

function addAccuracy(
  add: (name: string, value: number | null, unit: string) => void,
  name: string,
  { before, after, difference }: RunSummary['accuracy'],
): void {
  const percent = (interval: Interval | null, part: 'value' | 'low' | 'high'): number | null => {
    const value = interval?.[part] ?? null;
    return value === null ? null : 100 * value;
  };
  add(`${name} before`, percent(before, 'value'), '%');
  add(`${name} after`, percent(after, 'value'), '%');
  add(`${name} gain`, percent(difference, 'value'), 'points');
  add(`${name} gain, low`, percent(difference, 'low'), 'points');
  add(`${name} gain, high`, percent(difference, 'high'), 'points');
}

/**
 * Returns the median milliseconds from a request for four alternatives until the first one is
 * stored, over messages spread through the run.
 */
async function measureMedianClick(
  service: EngineService,
  summary: RunSummary,
  signal: AbortSignal,
): Promise<number | null> {
  const total = service.reading((store) => store.countBuckets({ run: summary.run, origin: 'training' }));
  const times: number[] = [];
  for (let click = 0; click < Math.min(CLICKS, total); click++) {
    const offset = Math.floor(((click + 0.5) * total) / CLICKS);
    const message = service.reading((store) =>
      store.bucketsOfRun({ run: summary.run, origin: 'training', offset, limit: 1 }),
    )[0]?.alternatives[0]?.message;
    if (message === undefined) {
      continue;
    }
    const started = performance.now();
    const first: number[] = [];
    await service.replay(
      { message, alternatives: 4, replays: 4, text: null },
      {
        signal,
        onProgress: ({ alternatives }) => {
          if (first.length === 0 && alternatives.some(({ original }) => !original)) {
            first.push(performance.now() - started);
          }
        },
      },
    );
    times.push(...first);
  }
  return takeMedian(times);
}
