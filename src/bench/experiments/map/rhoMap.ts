/**
 * `c3 bench rho-map`: C3 and MAGRPO on the dealer task over rho, team sizes and seeds, at the same
 * number of evaluator calls. A stopped map continues after its last whole line, and from a map.json
 * with the same settings in its folder.
 */

import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { mean } from '../../../credit/describe.ts';
import { EVALUATION_ROUNDS } from '../../../domain/evaluation.ts';
import { readRecipe, type Recipe } from '../../../engine/recipe/recipe.ts';
import { EngineService } from '../../../engine/service.ts';
import { createTemporaryFolder } from '../../../files/temporaryFolder.ts';
import { writeFileAtomically } from '../../../runtime/files/wholeFile.ts';
import type { StoreReader } from '../../../store/types.ts';
import { measureLearnedShare, findLevelRule } from '../../../tasks/dealer/dealer.ts';
import { makeFigure, describeHardware, type BenchFigure, type BenchOptions, type BenchReport } from '../../report.ts';
import { readEarlierMap, interval, MapLines, outcome, pilotOutcome } from './mapLines.ts';
import { formatMapPage, type MapReport } from './mapPage.ts';
import { FULL, QUICK, type Keys, type MapScale } from './mapScale.ts';
import {
  computeGain,
  MAP_METHODS,
  makeMapCells,
  fitMapTrends,
  type MapMethod,
  type MapPilot,
  type MapPlace,
  type MapRun,
  type MapTrend,
} from './mapTable.ts';
import { computeHandNoise, computeNoiseRatio, type MapVariance, type PlayerMessage } from './mapVariance.ts';

export interface RhoMapOptions extends BenchOptions {
  /** The current folder. */
  readonly folder: string;
  /** Folder of the map and the finished runs, or null for the default folder. */
  readonly out?: string | null;
}

/** Maximum number of episodes that are read of one evaluation. */
const MOST_EPISODES = 1_000_000;
/** The seed of pilots and of the variance, which is not a seed of the map. */
const OTHER_SEED = 1000;
/** Settings that may differ from those of the map that is continued. */
const EXTENDED = ['seeds', 'learning rates tried', 'seeds of the search'];
/** Separator between the names of machines. */
const BETWEEN = '; ';
/** A learning rate whose steps are lost in the rounding of the weights. */
const RESTING = 1e-15;

/**
 * Measures the map and writes lines.jsonl, map.json and map.html to `.c3/rho-map`, or to the folder
 * of --out.
 * @throws CancelledError, with the finished runs kept; C3Error
 */
export const benchRhoMap = (options: RhoMapOptions): Promise<BenchReport> =>
  makeRhoMap(options, options.quick ? QUICK : FULL);

/** Measures the map at a given scale. */
export async function makeRhoMap(options: RhoMapOptions, scale: MapScale): Promise<BenchReport> {
  const out = resolve(options.folder, options.out ?? join('.c3', options.quick ? 'rho-map-quick' : 'rho-map'));
  await mkdir(out, { recursive: true });
  return new RhoMap(await MapLines.open(join(out, 'lines.jsonl')), out, options, scale).make();
}

class RhoMap {
  private readonly lines: MapLines;
  private readonly out: string;
  private readonly options: RhoMapOptions;
  private readonly scale: MapScale;
  private readonly pilots: MapPilot[] = [];
  private readonly variances: MapVariance[] = [];
  private readonly search: MapRun[] = [];
  private readonly runs: MapRun[] = [];
  /** The names of all machines that measured parts of the map. */
  private readonly hardware = new Set([describeHardware('CPU provider')]);

  constructor(lines: MapLines, out: string, options: RhoMapOptions, scale: MapScale) {
    this.lines = lines;
    this.out = out;
    this.options = options;
    this.scale = scale;
  }

  async make(): Promise<BenchReport> {
    await this.continueEarlier();
    const rates = new Map<string, number>();
    const ready = new Set<MapPlace>();
    // Seed by seed, so that a stopped map compares all places of a row. Known parts come first.
    const parts = this.scale.rows.flatMap(({ places, seeds }) =>
      seeds.map((seed) => ({ places, seed, known: this.knows(places, seed) })),
    );
    for (const { places, seed } of parts.toSorted((a, b) => Number(b.known) - Number(a.known))) {
      for (const place of places.filter((one) => !ready.has(one))) {
        ready.add(place);
        this.pilots.push(await this.pilot(place));
        this.variances.push(...(await this.variance(place)));
        for (const method of MAP_METHODS) {
          const name = rateName(place, method);
          rates.set(name, rates.get(name) ?? (await this.bestRate(place.level, method)));
        }
      }
      for (const place of places) {
        for (const method of MAP_METHODS) {
          this.runs.push(await this.run(place, method, seed, rates.get(rateName(place, method)) ?? 0));
        }
      }
      await this.write();
    }
    return { suite: 'rho-map', figures: this.figures(), hardware: describeHardware('CPU provider') };
  }

  /** Returns true if all runs of a row with this seed, and therefore their rates, are known. */
  private readonly knows = (places: readonly MapPlace[], seed: number): boolean =>
    places.every((place) =>
      MAP_METHODS.every((method) =>
        this.scale.rates.some((rate) => this.lines.has(this.runNamed(place, method, seed, rate))),
      ),
    );

  private keysOf({ level, roles, learns }: MapPlace): Keys {
    const levels = Array.from({ length: level }, (_, index) => (index + 1 === level ? 1 : 0));
    return {
      'task.name': 'dealer',
      'task.levels': levels,
      'task.roles': roles,
      ...this.scale.teams[roles],
      ...(!learns && { policies: { dealer: { learns: false } } }),
    };
  }

  /** Returns the rate with the highest mean share of the possible gain over the search seeds. */
  private async bestRate(level: number, method: MapMethod): Promise<number> {
    const { rates, searchSeeds } = this.scale;
    const [first = 0] = rates;
    const tried: { readonly rate: number; readonly gain: number }[] = [];
    for (const rate of rates.length === 1 ? [] : rates) {
      const runs: MapRun[] = [];
      for (const seed of searchSeeds) {
        runs.push(await this.run({ level, roles: 2, learns: false }, method, seed, rate));
      }
      this.search.push(...runs);
      tried.push({ rate, gain: mean(runs.flatMap((run) => computeGain(run) ?? [])) });
    }
    return tried.toSorted((a, b) => b.gain - a.gain)[0]?.rate ?? first;
  }

  private async pilot(place: MapPlace): Promise<MapPilot> {
    const { overrides, name } = this.pilotNamed(place);
    const { rho, ratios } = await this.lines.of(name, pilotOutcome, async () => {
      const found = await this.working(overrides, (service, recipe) =>
        service.pilot(recipe, this.scale.pilot, this.options.signal),
      );
      const first = found.messages[0]?.rho ?? null;
      if (first === null) {
        throw new Error(`The pilot at level ${place.level} measured no rho.`);
      }
      this.options.note(`level ${place.level}, ${place.roles} roles: rho ${first.value.toFixed(2)}`);
      return { rho: { ...first }, ratios: found.messages.map(({ varianceRatio }) => varianceRatio) };
    });
    return { ...place, rho, ratios };
  }

  private pilotNamed(place: MapPlace): { overrides: string[]; name: string[] } {
    const { pilot, run } = this.scale;
    // The untrained team does not depend on which roles learn.
    const overrides = toMapOverrides({ ...run, ...this.keysOf({ ...place, learns: true }), seed: OTHER_SEED });
    return { overrides, name: [...overrides, `pilot=${JSON.stringify(pilot)}`] };
  }

  /** Measures the player's noise ratio for a team of two whose dealer does not learn. */
  private async variance(place: MapPlace): Promise<MapVariance[]> {
    if (place.learns || place.roles !== 2) {
      return [];
    }
    const ratio = await this.lines.of(this.varianceName(place), interval, async () => {
      const noise = new Map<MapMethod, ReadonlyMap<string, number>>();
      for (const method of MAP_METHODS) {
        const overrides = this.restingRun(place, method);
        const messages = await this.working(overrides, async (service, recipe) => {
          const { run } = await service.run(recipe, { signal: this.options.signal, onProgress: () => undefined });
          return service.reading((store) => readPlayerMessages(store, run, this.scale.noiseSteps, method));
        });
        noise.set(method, computeHandNoise(messages, method));
      }
      const found = computeNoiseRatio(noise.get('c3') ?? new Map(), noise.get('magrpo') ?? new Map());
      if (found === null) {
        throw new Error(`At level ${place.level} no credit differs from another.`);
      }
      this.options.note(`level ${place.level}: variance ratio of the player ${found.value.toFixed(3)}`);
      return found;
    });
    return [{ ...place, ratio }];
  }

  private varianceName(place: MapPlace): string[] {
    return [...MAP_METHODS.flatMap((method) => this.restingRun(place, method)), 'noise of hands'];
  }

  /** Returns the overrides of a run whose policy does not change by a single bit. */
  private restingRun(place: MapPlace, method: MapMethod): string[] {
    return toMapOverrides({
      ...this.scale.run,
      ...this.keysOf(place),
      method,
      seed: OTHER_SEED,
      steps: this.scale.noiseSteps,
      'evaluation.instances': 0,
      'ppo.learning_rate': RESTING,
      snapshot_every: this.scale.noiseSteps,
      checkpoint_every: this.scale.noiseSteps,
    });
  }

  private runNamed(place: MapPlace, method: MapMethod, seed: number, rate: number): string[] {
    return toMapOverrides({
      ...this.scale.run,
      ...this.keysOf(place),
      method,
      seed,
      'ppo.learning_rate': rate,
      snapshot_every: this.scale.run['steps'] ?? 1,
      checkpoint_every: this.scale.run['steps'] ?? 1,
    });
  }

  private async run(place: MapPlace, method: MapMethod, seed: number, rate: number): Promise<MapRun> {
    const overrides = this.runNamed(place, method, seed, rate);
    const found = await this.lines.of(overrides, outcome, () =>
      this.working(overrides, async (service, recipe) => {
        const started = performance.now();
        const { run, evaluatorCalls, tokens } = await service.run(recipe, {
          signal: this.options.signal,
          onProgress: () => undefined,
        });
        const seconds = (performance.now() - started) / 1000;
        const [before, after] = service.reading((store) => measureLearnedShares(store, run, place));
        this.options.note(
          `level ${place.level}, ${place.roles} roles, ${method}, seed ${seed}, rate ${rate}: ${(100 * before).toFixed(1)} -> ${(100 * after).toFixed(1)} %, ${seconds.toFixed(0)} s`,
        );
        return { before, after, evaluatorCalls, tokens: tokens.prompt + tokens.completion, seconds };
      }),
    );
    return { ...place, method, seed, rate, ...found };
  }

  /** Takes over the results of the map in the folder if it has the same settings. */
  private async continueEarlier(): Promise<void> {
    const path = join(this.out, 'map.json');
    const earlier = await readEarlierMap(path);
    if (earlier === null) {
      return;
    }
    const settings = this.settings();
    const others = Object.keys({ ...settings, ...earlier.settings }).filter(
      (key) => !EXTENDED.includes(key) && settings[key] !== earlier.settings[key],
    );
    if (others.length > 0) {
      this.options.note(`${path} has other settings (${others.join(', ')}): what it recorded is not continued`);
      return;
    }
    for (const one of earlier.hardware.split(BETWEEN)) {
      this.hardware.add(one);
    }
    for (const { rho, ratios, ...place } of earlier.pilots) {
      await this.lines.adopt(this.pilotNamed(place).name, { rho, ratios });
    }
    for (const { ratio, ...place } of earlier.variances) {
      await this.lines.adopt(this.varianceName(place), ratio);
    }
    for (const { method, seed, rate, level, roles, learns, ...result } of [...earlier.search, ...earlier.runs]) {
      await this.lines.adopt(this.runNamed({ level, roles, learns }, method, seed, rate), result);
    }
  }

  /** Runs the work with a temporary store. */
  private async working<Result>(
    overrides: readonly string[],
    work: (service: EngineService, recipe: Recipe) => Promise<Result>,
  ): Promise<Result> {
    const folder = createTemporaryFolder('rho-map');
    const service = new EngineService(join(folder, 'c3.sqlite'));
    try {
      return await work(service, await readRecipe(null, overrides, this.options.folder));
    } finally {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Returns the settings of the map for its report. */
  private settings(): Record<string, string> {
    const { run, rates, searchSeeds, teams, pilot, noiseSteps } = this.scale;
    const measured = new Set(this.runs.map(({ seed }) => seed));
    const settings: Keys = {
      ...run,
      seeds: [...measured].toSorted((a, b) => a - b).join(', '),
      'learning rates tried': rates.join(', '),
      'seeds of the search': searchSeeds.join(', '),
      ...Object.fromEntries(Object.entries(teams).map(([roles, keys]) => [`${roles} roles`, JSON.stringify(keys)])),
      pilot: JSON.stringify(pilot),
      'steps of the variance': noiseSteps,
    };
    return Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, String(value)]));
  }

  private async write(): Promise<void> {
    const { quick } = this.options;
    const report: MapReport = {
      command: `c3 bench rho-map${quick ? ' --quick' : ''}`,
      hardware: [...this.hardware].join(BETWEEN),
      environment: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
      finishedAt: new Date().toISOString(),
      quick,
      settings: this.settings(),
      search: this.search,
      pilots: this.pilots,
      variances: this.variances,
      runs: this.runs,
    };
    const found = { cells: makeMapCells(this.pilots, this.runs), trends: this.trends() };
    await writeFileAtomically(join(this.out, 'map.json'), Buffer.from(`${JSON.stringify({ ...report, ...found })}\n`));
    await writeFileAtomically(join(this.out, 'map.html'), Buffer.from(formatMapPage(report)));
    this.options.note(`${join(this.out, 'map.html')} holds ${this.runs.length} runs`);
  }

  /**
   * Returns the trends of each game separately, because a team can learn different things in each.
   */
  private trends(): { learns: boolean; by: string; trends: MapTrend[] }[] {
    const gameOf = ({ level, learns }: MapPlace): string => `${String(learns)} ${findLevelRule(level).by}`;
    return [...Map.groupBy(this.pilots, gameOf).values()].flatMap((pilots) => {
      const [first] = pilots;
      const runs = this.runs.filter((run) => first !== undefined && gameOf(run) === gameOf(first));
      return first === undefined
        ? []
        : [{ learns: first.learns, by: findLevelRule(first.level).by, trends: fitMapTrends(pilots, runs) }];
    });
  }

  private figures(): BenchFigure[] {
    const cells = makeMapCells(this.pilots, this.runs).map(({ level, roles, difference }) =>
      makeFigure(
        `level ${level}, ${roles} roles: C3 less MAGRPO, share of the gain`,
        difference?.value ?? null,
        'share',
      ),
    );
    const trends = this.trends().flatMap(({ learns, by, trends: found }) =>
      found.map(({ roles, slope }) =>
        makeFigure(
          `${roles === null ? 'all teams' : `${roles} roles`}, the dealer ${learns ? `has ${by}` : 'does not learn'}: change with a doubling of rho`,
          slope?.value ?? null,
          'share',
        ),
      ),
    );
    return [...cells, ...trends];
  }
}

/**
 * Levels with the same rho share the rate of the first, because they ask the same of the player.
 */
const rateName = ({ level }: MapPlace, method: MapMethod): string => `${findLevelRule(level).rho} ${method}`;

const toMapOverrides = (keys: Keys): string[] =>
  Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);

/** Returns the learnable shares that a run's team had right before and after training. */
function measureLearnedShares(
  store: StoreReader,
  run: string,
  { level, roles }: MapPlace,
): [before: number, after: number] {
  const at = (stage: 'before' | 'after'): number => {
    const round = EVALUATION_ROUNDS.find((one) => one.kind === 'sampled' && one.stage === stage);
    const { iteration = 0 } = round ?? {};
    const episodes = store.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: MOST_EPISODES });
    // A malformed message has nothing right.
    return mean(episodes.map(({ return: value }) => measureLearnedShare(value ?? 0, level, roles) ?? 0));
  };
  return [at('before'), at('after')];
}

/** Returns the player's messages of all steps with their credits. A hand belongs to one step. */
function readPlayerMessages(store: StoreReader, run: string, steps: number, method: MapMethod): PlayerMessage[] {
  return Array.from({ length: steps }, (_, step) => step + 1).flatMap((step) =>
    store
      .trainingMessages(run, step, method === 'c3' ? 'loo' : 'magrpo')
      .flatMap(({ position, problem, message, credit }) =>
        position === 0 || credit === null
          ? []
          : [{ hand: `${step} ${problem}`, text: store.fullMessage(message).text, credit }],
      ),
  );
}
