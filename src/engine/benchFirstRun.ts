/** `c3 bench first-run`: what a new user's first run costs and gains, with three seeds, and how soon a replay shows something. */
import { mkdtemp, rm } from 'node:fs/promises';
import * as os from 'node:os';
import { join } from 'node:path';
import type { Interval, RunSummary } from '../shared/records.ts';
import { readRecipe } from './recipe.ts';
import { EngineService } from './service.ts';

export interface BenchFigure {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly ceiling: number | null;
  readonly ratio: number | null;
  readonly peer: number | null;
  readonly peerRatio: number | null;
}

export interface BenchReport {
  readonly suite: string;
  readonly figures: readonly BenchFigure[];
  readonly hardware: string;
}

export interface BenchInput {
  /** One seed and a tenth of the steps. */
  readonly quick: boolean;
  /** A *.c3.yaml, or null for the bundled team's defaults. */
  readonly config: string | null;
  readonly folder: string;
  readonly cancelled: () => boolean;
  readonly note: (line: string) => void;
}

const SEEDS = [0, 1, 2];
const CLICKS = 15;

export async function benchFirstRun({ quick, config, folder, cancelled, note }: BenchInput): Promise<BenchReport> {
  const { steps, evaluation } = (await readRecipe(config, [], folder)).config;
  const shortened = [`steps=${String(Math.ceil(steps / 10))}`, `evaluation.instances=${String(Math.min(64, evaluation.instances))}`];
  const figures: BenchFigure[] = [];
  const add = (name: string, value: number | null, unit: string): void => {
    figures.push({ name, value: value === null ? null : Number(value.toPrecision(5)), unit, ceiling: null, ratio: null, peer: null, peerRatio: null });
  };
  for (const seed of quick ? SEEDS.slice(0, 1) : SEEDS) {
    const home = await mkdtemp(join(os.tmpdir(), 'c3-bench-'));
    const service = new EngineService(join(home, 'c3.sqlite'));
    try {
      const recipe = await readRecipe(config, [`seed=${String(seed)}`, ...(quick ? shortened : [])], folder);
      const started = performance.now();
      let first: number | null = null;
      const summary = await service.run(recipe, {
        cancelled,
        onProgress: ({ stage, done }) => {
          if (first === null && stage !== 'load' && done > 0) first = (performance.now() - started) / 1000;
        },
      });
      const prefix = `seed ${String(seed)}:`;
      add(`${prefix} first transcript stored`, first, 's');
      add(`${prefix} training`, summary.seconds, 's');
      add(`${prefix} whole run`, (performance.now() - started) / 1000, 's');
      addAccuracy(add, `${prefix} greedy accuracy`, summary.accuracy);
      addAccuracy(add, `${prefix} pass@1`, summary.passAt1);
      add(`${prefix} evaluator calls`, summary.evaluatorCalls, '');
      add(`${prefix} replay click to first alternative, median`, await clickMedian(service, summary, cancelled), 'ms');
    } finally {
      await service.close();
      await rm(home, { recursive: true, force: true });
    }
    note(`seed ${String(seed)} done`);
  }
  const processor = os.cpus()[0]?.model.trim() ?? 'unknown processor';
  return { suite: 'first-run', figures, hardware: `${processor}, ${String(os.cpus().length)} cores, CPU provider` };
}

function addAccuracy(add: (name: string, value: number | null, unit: string) => void, name: string, { before, after, difference }: RunSummary['accuracy']): void {
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

/** Median time from asking for four alternatives to the first one stored, over messages spread through the run. */
async function clickMedian(service: EngineService, summary: RunSummary, cancelled: () => boolean): Promise<number | null> {
  const total = service.reading((store) => store.countBuckets({ run: summary.run, origin: 'training' }));
  const times: number[] = [];
  for (let click = 0; click < Math.min(CLICKS, total); click++) {
    const offset = Math.floor(((click + 0.5) * total) / CLICKS);
    const message = service.reading((store) => store.bucketsOfRun({ run: summary.run, origin: 'training', offset, limit: 1 }))[0]?.alternatives[0]?.decision;
    if (message === undefined) continue;
    const started = performance.now();
    const first: number[] = [];
    await service.replay({ message, alternatives: 4, replays: 4, text: null }, {
      cancelled,
      onProgress: ({ alternatives }) => {
        if (first.length === 0 && alternatives.some(({ original }) => !original)) first.push(performance.now() - started);
      },
    });
    times.push(...first);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? null;
}
