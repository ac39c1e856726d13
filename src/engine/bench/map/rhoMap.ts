/**
 * `c3 bench rho-map`: C3 and MAGRPO on the dealer task over rho, team sizes and seeds, at the same evaluator calls.
 * What each run came to is a line of a file, so a map that was stopped, or killed, continues after its last whole line.
 */
import { appendFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { mean } from '../../../credit/describe.ts';
import { writeWhole } from '../../../runtime/files/wholeFile.ts';
import { EVALUATION_ROUNDS } from '../../../shared/records/evaluationRounds.ts';
import type { StoreReader } from '../../../store/types.ts';
import { learnedShare, levelRule } from '../../../tasks/dealer/dealer.ts';
import { readRecipe, type Recipe } from '../../recipe/recipe.ts';
import { EngineService } from '../../service.ts';
import { figure, hardwareName, type BenchFigure, type BenchOptions, type BenchReport } from '../report.ts';
import { mapPage, type MapReport } from './mapPage.ts';
import {
  MAP_METHODS,
  mapCells,
  mapTrends,
  type MapMethod,
  type MapPilot,
  type MapPlace,
  type MapRun,
} from './mapTable.ts';

export interface RhoMapOptions extends BenchOptions {
  /** The current folder. */
  readonly folder: string;
  /** Where the map and its lines are kept; null for the usual place. */
  readonly out?: string | null;
}

type Keys = Readonly<Record<string, unknown>>;

/** What a map is made with; both methods alike. */
export interface MapScale {
  /** In the order in which they are measured. */
  readonly places: readonly MapPlace[];
  readonly seeds: readonly number[];
  /** Tried by each method at each level with a team of two, on a seed outside the map; of one there is no choice. */
  readonly rates: readonly number[];
  /** Configuration keys of all runs. */
  readonly run: Keys;
  /** Those that a team size needs besides. */
  readonly teams: Readonly<Record<number, Keys>>;
  readonly pilot: { readonly questions: number; readonly alternatives: number; readonly replays: number };
}

/**
 * Larger teams sample along a spine: within eight calls a nested fan-out gives the messages after the first three no
 * sibling. The fan-outs are what predictions are made of.
 */
const TEAMS: MapScale['teams'] = {
  2: { shape: 'nested', fanout: [2, 4] },
  3: { shape: 'spine', fanout: [2, 2, 2] },
  4: { shape: 'spine', fanout: [2, 2, 2, 1] },
  6: { shape: 'spine', fanout: [2, 2, 2, 1, 1, 1] },
};
const LEVELS = [1, 2, 3, 4];
const LARGER = [3, 4, 6];
/** Of the game in which the dealer can learn all that its message decides: what the map is compared with. */
const LEARNED_LEVELS = [5, 6, 7, 8];
const COMMON: Keys = {
  steps: 25,
  instances_per_step: 8,
  evaluator_budget: 8,
  'evaluation.instances': 128,
  'evaluation.samples': 4,
  'credit.common_random_numbers': false,
  'credit.merge_contexts': true,
  'credit.lone_messages': 'parent',
  'ppo.loss_weight': 'role',
  'ppo.kl_coefficient': 0,
  'device.threads': 1,
};

const FULL: MapScale = {
  places: [
    ...LEVELS.map((level) => ({ level, roles: 2, learns: true })),
    ...LEVELS.map((level) => ({ level, roles: 2, learns: false })),
    ...LARGER.flatMap((roles) => LEVELS.map((level) => ({ level, roles, learns: true }))),
    ...LEARNED_LEVELS.map((level) => ({ level, roles: 2, learns: true })),
  ],
  seeds: Array.from({ length: 10 }, (_, seed) => seed),
  rates: [1e-3],
  run: COMMON,
  teams: TEAMS,
  pilot: { questions: 128, alternatives: 8, replays: 8 },
};
const QUICK: MapScale = {
  ...FULL,
  places: LEVELS.map((level) => ({ level, roles: 2, learns: true })),
  seeds: [0, 1],
  rates: [1e-3],
  run: { ...COMMON, steps: 10, 'evaluation.instances': 64 },
  pilot: { questions: 32, alternatives: 6, replays: 4 },
};
/** Of one evaluation of a run. */
const MOST_EPISODES = 1_000_000;
/** Of the search: not one of the map's. */
const SEARCH_SEED = 1000;

/**
 * Makes the map in a folder of its own, `.c3/rho-map` unless --out names one: lines.jsonl, map.json, map.html.
 * @throws CancelledError, keeping what was done; C3Error
 */
export const benchRhoMap = (options: RhoMapOptions): Promise<BenchReport> =>
  makeRhoMap(options, options.quick ? QUICK : FULL);

/** The same at a scale of the caller's. */
export async function makeRhoMap(options: RhoMapOptions, scale: MapScale): Promise<BenchReport> {
  const out = resolve(options.folder, options.out ?? join('.c3', options.quick ? 'rho-map-quick' : 'rho-map'));
  await mkdir(out, { recursive: true });
  return new RhoMap(await MapLines.open(join(out, 'lines.jsonl')), out, options, scale).make();
}

const interval = z.object({
  value: z.number(),
  low: z.number().nullable(),
  high: z.number().nullable(),
  n: z.number(),
});
const outcome = z.object({
  before: z.number(),
  after: z.number(),
  evaluatorCalls: z.number(),
  tokens: z.number(),
  seconds: z.number(),
});
const pilotOutcome = z.object({ rho: interval, ratios: z.array(z.number().nullable()) });
const lineSchema = z.object({ overrides: z.array(z.string()), result: z.unknown() });

/** What was measured, by the overrides that made it. */
class MapLines {
  private readonly path: string;
  private readonly known: Map<string, unknown>;

  private constructor(path: string, known: Map<string, unknown>) {
    this.path = path;
    this.known = known;
  }

  /** Reads what is there; a last line that was cut is dropped. */
  static async open(path: string): Promise<MapLines> {
    const text = await readFile(path, 'utf8').catch(() => '');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole !== text) {
      await writeWhole(path, Buffer.from(whole));
    }
    const lines = whole.split('\n').filter((line) => line !== '');
    const known = lines.map((line): [string, unknown] => {
      const { overrides, result } = lineSchema.parse(JSON.parse(line));
      return [JSON.stringify(overrides), result];
    });
    return new MapLines(path, new Map(known));
  }

  /** What these overrides came to: what is known, or what `measure` finds now. */
  async of<Result>(
    overrides: readonly string[],
    schema: z.ZodType<Result>,
    measure: () => Promise<Result>,
  ): Promise<Result> {
    const key = JSON.stringify(overrides);
    if (this.known.has(key)) {
      return schema.parse(this.known.get(key));
    }
    const result = await measure();
    await appendFile(this.path, `${JSON.stringify({ overrides, result })}\n`);
    this.known.set(key, result);
    return result;
  }
}

class RhoMap {
  private readonly lines: MapLines;
  private readonly out: string;
  private readonly options: RhoMapOptions;
  private readonly scale: MapScale;
  private readonly pilots: MapPilot[] = [];
  private readonly search: MapRun[] = [];
  private readonly runs: MapRun[] = [];

  constructor(lines: MapLines, out: string, options: RhoMapOptions, scale: MapScale) {
    this.lines = lines;
    this.out = out;
    this.options = options;
    this.scale = scale;
  }

  async make(): Promise<BenchReport> {
    const { places, seeds } = this.scale;
    const rates = new Map<string, number>();
    // Row by row, and seed by seed: what there is after a stop has whole rows, and compares all levels of the last one.
    const rowOf = ({ level, roles, learns }: MapPlace): string =>
      `${String(roles)} ${levelRule(level).by} ${String(learns)}`;
    for (const row of Map.groupBy(places, rowOf).values()) {
      for (const place of row) {
        this.pilots.push(await this.pilot(place));
        for (const method of MAP_METHODS) {
          const name = `${String(place.level)} ${method}`;
          rates.set(name, rates.get(name) ?? (await this.bestRate(place.level, method)));
        }
      }
      for (const seed of seeds) {
        for (const place of row) {
          for (const method of MAP_METHODS) {
            this.runs.push(await this.run(place, method, seed, rates.get(`${String(place.level)} ${method}`) ?? 0));
          }
        }
        await this.write();
      }
    }
    return { suite: 'rho-map', figures: this.figures(), hardware: hardwareName('CPU provider') };
  }

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

  /** The rate after which a method has most right on the seed of the search. */
  private async bestRate(level: number, method: MapMethod): Promise<number> {
    const { rates } = this.scale;
    const tried: MapRun[] = [];
    for (const rate of rates.length === 1 ? [] : rates) {
      tried.push(await this.run({ level, roles: 2, learns: true }, method, SEARCH_SEED, rate));
    }
    this.search.push(...tried);
    const [first = 0] = rates;
    return tried.toSorted((a, b) => b.after - a.after)[0]?.rate ?? first;
  }

  private async pilot(place: MapPlace): Promise<MapPilot> {
    const { pilot, run } = this.scale;
    // The untrained team is the same whoever learns.
    const overrides = overridesOf({ ...run, ...this.keysOf({ ...place, learns: true }), seed: SEARCH_SEED });
    const { rho, ratios } = await this.lines.of(
      [...overrides, `pilot=${JSON.stringify(pilot)}`],
      pilotOutcome,
      async () => {
        const found = await this.working(overrides, (service, recipe) =>
          service.pilot(recipe, pilot, this.options.signal),
        );
        const first = found.messages[0]?.rho ?? null;
        if (first === null) {
          throw new Error(`The pilot at level ${String(place.level)} measured no rho.`);
        }
        this.options.note(`level ${String(place.level)}, ${String(place.roles)} roles: rho ${first.value.toFixed(2)}`);
        return { rho: { ...first }, ratios: found.messages.map(({ varianceRatio }) => varianceRatio) };
      },
    );
    return { ...place, rho, ratios };
  }

  private async run(place: MapPlace, method: MapMethod, seed: number, rate: number): Promise<MapRun> {
    const overrides = overridesOf({
      ...this.scale.run,
      ...this.keysOf(place),
      method,
      seed,
      'ppo.learning_rate': rate,
      snapshot_every: this.scale.run['steps'] ?? 1,
      checkpoint_every: this.scale.run['steps'] ?? 1,
    });
    const found = await this.lines.of(overrides, outcome, () =>
      this.working(overrides, async (service, recipe) => {
        const started = performance.now();
        const { run, evaluatorCalls, tokens } = await service.run(recipe, {
          signal: this.options.signal,
          onProgress: () => undefined,
        });
        const seconds = (performance.now() - started) / 1000;
        const [before, after] = service.reading((store) => sharesOf(store, run, place));
        this.options.note(
          `level ${String(place.level)}, ${String(place.roles)} roles, ${method}, seed ${String(seed)}, rate ${String(rate)}: ${(100 * before).toFixed(1)} -> ${(100 * after).toFixed(1)} %, ${seconds.toFixed(0)} s`,
        );
        return { before, after, evaluatorCalls, tokens: tokens.prompt + tokens.completion, seconds };
      }),
    );
    return { ...place, method, seed, rate, ...found };
  }

  /** Works with a store that is only needed for this piece of work. */
  private async working<Result>(
    overrides: readonly string[],
    work: (service: EngineService, recipe: Recipe) => Promise<Result>,
  ): Promise<Result> {
    const folder = await mkdtemp(join(tmpdir(), 'c3-rho-map-'));
    const service = new EngineService(join(folder, 'c3.sqlite'));
    try {
      return await work(service, await readRecipe(null, overrides, this.options.folder));
    } finally {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    }
  }

  private async write(): Promise<void> {
    const { quick } = this.options;
    const { run, seeds, rates, pilot } = this.scale;
    const measured = new Set(this.runs.map(({ seed }) => seed));
    const settings: Keys = {
      ...run,
      seeds: seeds.filter((seed) => measured.has(seed)).join(', '),
      'learning rates tried': rates.join(', '),
      ...Object.fromEntries(
        Object.entries(this.scale.teams).map(([roles, keys]) => [`${roles} roles`, JSON.stringify(keys)]),
      ),
      pilot: JSON.stringify(pilot),
    };
    const report: MapReport = {
      command: `c3 bench rho-map${quick ? ' --quick' : ''}`,
      hardware: hardwareName('CPU provider'),
      environment: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
      finishedAt: new Date().toISOString(),
      quick,
      settings: Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, String(value)])),
      search: this.search,
      pilots: this.pilots,
      runs: this.runs,
    };
    const found = { cells: mapCells(this.pilots, this.runs), trends: mapTrends(this.pilots, this.runs) };
    await writeWhole(join(this.out, 'map.json'), Buffer.from(`${JSON.stringify({ ...report, ...found })}\n`));
    await writeWhole(join(this.out, 'map.html'), Buffer.from(mapPage(report)));
    this.options.note(`${join(this.out, 'map.html')} holds ${String(this.runs.length)} runs`);
  }

  private figures(): BenchFigure[] {
    const cells = mapCells(this.pilots, this.runs).map(({ level, roles, difference }) =>
      figure(
        `level ${String(level)}, ${String(roles)} roles: C3 less MAGRPO, share of the gain`,
        difference?.value ?? null,
        'share',
      ),
    );
    const trends = mapTrends(this.pilots, this.runs).map(({ roles, slope }) =>
      figure(
        `${roles === null ? 'all teams' : `${String(roles)} roles`}: change with a doubling of rho`,
        slope?.value ?? null,
        'share',
      ),
    );
    return [...cells, ...trends];
  }
}

const overridesOf = (keys: Keys): string[] =>
  Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);

/** The shares of what can be learned that a run's team had right before and after it was trained. */
function sharesOf(store: StoreReader, run: string, { level, roles }: MapPlace): [before: number, after: number] {
  const at = (stage: 'before' | 'after'): number => {
    const round = EVALUATION_ROUNDS.find((one) => one.kind === 'sampled' && one.stage === stage);
    const { iteration = 0 } = round ?? {};
    const episodes = store.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: MOST_EPISODES });
    // A message that is not in form has nothing right.
    return mean(episodes.map(({ return: value }) => learnedShare(value ?? 0, level, roles) ?? 0));
  };
  return [at('before'), at('after')];
}
