/**
 * The finished runs of a paper table: one line of JSON each, with the results that the table needs,
 * the inputs and the hardware. Another machine can continue from the file without the store of the
 * runs.
 */

import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { MethodRun, Solved } from '../../../diagnostics/methods/methodComparison.ts';
import { readRecipe, type Recipe } from '../../../engine/recipe/recipe.ts';
import { readRegular } from '../../../files/regularFile.ts';
import { writeFileAtomically } from '../../../runtime/files/wholeFile.ts';
import { C3Error, toErrorMessage } from '../../../shared/errors.ts';
import { generateSplit, TASK_NAMES } from '../../../tasks/split.ts';
import { removeEarlierKeys } from '../../../training/config/storedConfig.ts';
import { METHOD_NAMES } from '../../../training/methods/methods.ts';
import type { PaperRun, SampleSettings, Scale } from './paperScale.ts';

/**
 * Version of the computations of training, evaluation and diagnostics that the configuration does
 * not cover. It is raised with every change that affects a result, so that a table never mixes
 * versions.
 */
export const DEFINITIONS = 1;

/** Maximum bytes of a file of runs, which has a few kilobytes for each run. */
const MOST_BYTES = 64 * 2 ** 20;
/** Maximum bytes of one file of a bundled team. */
const MOST_TEAM_BYTES = 64 * 2 ** 20;

/**
 * Solved episodes by problem. Each digit of base 36 counts the solved ones of `samples`. `others`
 * has [solved, samples] of the problems with another number of samples, by their position.
 */
const countsSchema = z.object({
  samples: z.int().min(0).max(35),
  solved: z.string().regex(/^[0-9a-z]*$/u),
  others: z.record(z.string(), z.tuple([z.int().nonnegative(), z.int().nonnegative()])),
});
type Counts = z.infer<typeof countsSchema>;

const lineSchema = z.object({
  part: z.enum(['search', 'table']),
  task: z.enum(TASK_NAMES),
  method: z.enum(METHOD_NAMES),
  seed: z.int(),
  rate: z.number(),
  steps: z.int(),
  sample: z.object({ contexts: z.int(), alternatives: z.int(), replays: z.int(), valueSamples: z.int() }).nullable(),
  definitions: z.int(),
  config: z.string(),
  team: z.string(),
  hardware: z.string(),
  environment: z.string(),
  version: z.string(),
  finishedAt: z.string(),
  run: z.object({
    id: z.string(),
    greedy: countsSchema,
    sampled: countsSchema,
    fidelity: z.number().nullable(),
    variance: z.number().nullable(),
    influence: z.number().nullable(),
    publishedInfluence: z.number().nullable(),
    contexts: z.number(),
    evaluatorCalls: z.number(),
    tokens: z.object({ prompt: z.number(), reused: z.number(), completion: z.number() }),
    decisions: z.record(z.string(), z.number()),
    seconds: z.number(),
    curve: z.array(z.tuple([z.number(), z.number(), z.number(), z.number()])),
  }),
});
type Line = z.infer<typeof lineSchema>;

/** The hardware and the software that make runs. */
export interface Maker {
  readonly hardware: string;
  readonly environment: string;
  readonly version: string;
}

/** A finished run of the table or of its search. */
export interface KeptRun extends PaperRun, Maker {
  /** The settings of its diagnostics, or null if it has none. */
  readonly sample: SampleSettings | null;
  readonly run: Omit<MethodRun, 'budget'>;
}

/**
 * Returns the recipe of a run.
 * @throws C3Error('input') for keys that a configuration does not have
 */
export async function readPaperRecipe(
  { run, search }: Pick<Scale, 'run' | 'search'>,
  { part, task, method, seed, rate, steps }: PaperRun,
  folder: string,
): Promise<Recipe> {
  const overrides = Object.entries({
    ...run,
    ...(part === 'search' ? search : {}),
    steps,
    seed,
    'ppo.learning_rate': rate,
    snapshot_every: steps,
    checkpoint_every: 12,
    'evaluation.before': false,
    method,
    'task.name': task,
    // The title has the definitions, so that a stored run of other definitions is not reused.
    title: `Paper table (definitions ${DEFINITIONS}): ${task}, ${method}, seed ${seed}, rate ${rate}`,
  });
  return readRecipe(
    null,
    overrides.map(([key, value]) => `${key}=${JSON.stringify(value)}`),
    folder,
  );
}

/** The inputs of a run other than its place in the table, as versions and hashes. */
interface Inputs {
  readonly definitions: number;
  readonly config: string;
  readonly team: string;
}
const CHANGED: Readonly<Record<keyof Inputs | 'sample' | 'searchSteps', string>> = {
  definitions: 'other definitions of the methods',
  config: 'another configuration',
  team: 'another team or other questions',
  sample: 'another diagnostic sample',
  searchSteps: 'another length of the search',
};

/** Finished runs by their place in the table, kept in a file that is always complete. */
export class PaperRecord {
  private readonly path: string;
  private readonly scale: Scale;
  private readonly folder: string;
  private readonly maker: Maker;
  private readonly lines = new Map<string, Line>();
  private readonly teams = new Map<string, Promise<string>>();

  private constructor(path: string, scale: Scale, folder: string, maker: Maker) {
    this.path = path;
    this.scale = scale;
    this.folder = folder;
    this.maker = maker;
  }

  /**
   * Reads the runs of the file, if it exists, and of another file.
   * @param from the other file, or null for none
   * @throws C3Error('input') if a file cannot be read or has a run that would now differ
   */
  static async open(
    path: string,
    from: string | null,
    { scale, folder, maker }: { readonly scale: Scale; readonly folder: string; readonly maker: Maker },
  ): Promise<PaperRecord> {
    const record = new PaperRecord(path, scale, folder, maker);
    if (from !== null) {
      await record.read(from, 'name a file of runs that a paper table left, or leave out --continue');
    }
    const taken = record.lines.size;
    const there = await readdir(join(path, '..')).catch((): string[] => []);
    if (there.some((name) => join(path, '..', name) === path)) {
      await record.read(path, 'name another folder with --out');
    }
    if (taken > 0) {
      await record.write();
    }
    return record;
  }

  /**
   * Returns a finished run or null.
   * @param sample required settings of its diagnostics, or null for any
   */
  find(run: PaperRun, sample: SampleSettings | null): KeptRun | null {
    const line = this.lines.get(toRecordKey(run));
    return line === undefined || (sample !== null && !isDeepStrictEqual(line.sample, sample)) ? null : toKeptRun(line);
  }

  /**
   * Keeps a finished run and writes the file.
   * @throws C3Error('store') if the file cannot be written
   */
  async keep(place: PaperRun, sample: SampleSettings | null, run: MethodRun): Promise<KeptRun> {
    // Only the table needs the greedy episodes, the learning curve and the messages by role.
    const whole = place.part === 'table';
    const { task: _, method: __, seed: ___, budget: ____, run: id, seconds, curve, ...measured } = run;
    const line = lineSchema.parse({
      ...place,
      sample,
      ...(await this.inputsOf(place)),
      ...this.maker,
      finishedAt: new Date().toISOString(),
      run: {
        ...measured,
        id,
        greedy: encodeSolved(whole ? run.greedy : []),
        sampled: encodeSolved(run.sampled),
        decisions: whole ? run.decisions : {},
        seconds: seconds ?? 0,
        curve: whole
          ? curve.map(({ step, meanReturn, evaluatorCalls, tokens }) => [step, meanReturn, evaluatorCalls, tokens])
          : [],
      },
    });
    this.lines.set(toRecordKey(place), line);
    await this.write();
    return toKeptRun(line);
  }

  private async write(): Promise<void> {
    const text = [...this.lines.values()].map((line) => `${JSON.stringify(line)}\n`).join('');
    await writeFileAtomically(this.path, Buffer.from(text));
  }

  private async read(path: string, advice: string): Promise<void> {
    const text = (await readRegular(path, MOST_BYTES, advice)).toString('utf8');
    for (const [index, content] of text.split('\n').entries()) {
      if (content !== '') {
        const where = `${path}, line ${index + 1}`;
        const line = parseRecordLine(content, where, advice);
        const changed = await this.change(line);
        if (changed !== null) {
          throw new C3Error(
            'input',
            `${where}: the run of ${line.task}, ${line.method}, seed ${line.seed} was made with ${CHANGED[changed]}; continue it with the version that made it, or ${advice}.`,
          );
        }
        this.lines.set(toRecordKey(line), line);
      }
    }
  }

  /** Returns the input of a run that would be different now, or null if all are the same. */
  private async change(line: Line): Promise<keyof typeof CHANGED | null> {
    const now = await this.inputsOf(line);
    const found = (['definitions', 'team', 'config'] as const).find((name) => line[name] !== now[name]);
    const task = this.scale.tasks.find(({ name }) => name === line.task);
    return (
      found ??
      (line.part === 'search' && task?.searchSteps !== line.steps
        ? 'searchSteps'
        : line.sample !== null && !isDeepStrictEqual(line.sample, this.scale.sample)
          ? 'sample'
          : null)
    );
  }

  private async inputsOf(place: PaperRun): Promise<Inputs> {
    const recipe = await readPaperRecipe(this.scale, place, this.folder);
    const { title: _, ...config } = removeEarlierKeys(recipe.config);
    const team = this.teams.get(place.task) ?? hashTeam(recipe);
    this.teams.set(place.task, team);
    return { definitions: DEFINITIONS, config: hash(JSON.stringify(config)), team: await team };
  }
}

const toRecordKey = ({ part, task, method, seed, rate, steps }: PaperRun): string =>
  JSON.stringify([part, task, method, seed, rate, steps]);

const hash = (...parts: readonly (string | Uint8Array)[]): string => {
  const sha = createHash('sha256');
  for (const part of parts) {
    // The length before each part separates the parts.
    sha.update(`${part.length}:`).update(part);
  }
  return sha.digest('hex').slice(0, 16);
};

/**
 * Hashes the files of the untrained team, its protocol, and some questions that its task generates.
 */
async function hashTeam({ modelFolder, protocolText, config: { task } }: Recipe): Promise<string> {
  const names = (await readdir(modelFolder)).filter((name) => /\.(safetensors|json)$/u.test(name)).sort();
  const files = await Promise.all(
    names.map((name) => readRegular(join(modelFolder, name), MOST_TEAM_BYTES, 'install the product again')),
  );
  const { train, evaluation } = generateSplit({
    task: task.name,
    seed: 'paper-table',
    train: 16,
    evaluation: 16,
    levels: task.levels,
    roles: task.roles,
  });
  return hash(protocolText, ...files, JSON.stringify([train, evaluation]));
}

function parseRecordLine(content: string, where: string, advice: string): Line {
  try {
    return lineSchema.parse(JSON.parse(content));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const reason = issue === undefined ? toErrorMessage(error) : `${issue.path.join('.')}: ${issue.message}`;
    throw new C3Error('input', `${where} is no run of a paper table: ${reason}; ${advice}.`, { cause: error });
  }
}

function toKeptRun({ run, definitions: _, config: __, team: ___, finishedAt: ____, ...line }: Line): KeptRun {
  const { id, greedy, sampled, curve, ...measured } = run;
  return {
    ...line,
    run: {
      ...measured,
      task: line.task,
      method: line.method,
      seed: line.seed,
      run: id,
      greedy: decodeSolved(greedy),
      sampled: decodeSolved(sampled),
      curve: curve.map(([step, meanReturn, evaluatorCalls, tokens]) => ({ step, meanReturn, evaluatorCalls, tokens })),
    },
  };
}

/** Encodes solved problems. All have the same number of samples, except a few masked ones. */
function encodeSolved(all: readonly Solved[]): Counts {
  const samples = Math.min(35, Math.max(0, ...all.map((one) => one.samples)));
  const others = all.flatMap((one, index): [string, [number, number]][] =>
    one.samples === samples ? [] : [[String(index), [one.solved, one.samples]]],
  );
  const digits = all.map((one) => (one.samples === samples ? one.solved.toString(36) : '0'));
  return { samples, solved: digits.join(''), others: Object.fromEntries(others) };
}

const decodeSolved = ({ samples, solved, others }: Counts): Solved[] =>
  Array.from(solved, (digit, index) => {
    const [count, of] = others[String(index)] ?? [Number.parseInt(digit, 36), samples];
    return { solved: count, samples: of };
  });
