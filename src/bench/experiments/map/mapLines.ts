/**
 * The results of a map, keyed by their configuration overrides. Each result is one line of a file,
 * so a map that was stopped or killed continues after its last whole line. Results of an earlier
 * map with the same settings can be added.
 */

import { appendFile, readFile } from 'node:fs/promises';
import { z } from 'zod';
import { writeFileAtomically } from '../../../runtime/files/wholeFile.ts';
import { C3Error } from '../../../shared/errors.ts';
import { MAP_METHODS } from './mapTable.ts';

export const interval = z.object({
  value: z.number(),
  low: z.number().nullable(),
  high: z.number().nullable(),
  n: z.number(),
});
export const outcome = z.object({
  before: z.number(),
  after: z.number(),
  evaluatorCalls: z.number(),
  tokens: z.number(),
  seconds: z.number(),
});
export const pilotOutcome = z.object({ rho: interval, ratios: z.array(z.number().nullable()) });
const lineSchema = z.object({ overrides: z.array(z.string()), result: z.unknown() });

/** Results in a file, keyed by their configuration overrides. */
export class MapLines {
  private readonly path: string;
  private readonly known: Map<string, unknown>;

  private constructor(path: string, known: Map<string, unknown>) {
    this.path = path;
    this.known = known;
  }

  /** Reads the file if there is one, and drops an incomplete last line. */
  static async open(path: string): Promise<MapLines> {
    const text = await readFile(path, 'utf8').catch(() => '');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole !== text) {
      await writeFileAtomically(path, Buffer.from(whole));
    }
    const lines = whole.split('\n').filter((line) => line !== '');
    const known = lines.map((line): [string, unknown] => {
      const { overrides, result } = lineSchema.parse(JSON.parse(line));
      return [JSON.stringify(overrides), result];
    });
    return new MapLines(path, new Map(known));
  }

  /** Returns true if there is a result for these overrides. */
  has(overrides: readonly string[]): boolean {
    return this.known.has(JSON.stringify(overrides));
  }

  /** Returns the known result of these overrides, or measures and records it. */
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

  /** Adds a result of an earlier map, unless these overrides have a result. */
  async adopt(overrides: readonly string[], result: unknown): Promise<void> {
    await this.of(overrides, z.unknown(), () => Promise.resolve(result));
  }
}

const place = { level: z.number(), roles: z.number(), learns: z.boolean() };
const run = z.object({ ...place, method: z.enum(MAP_METHODS), seed: z.number(), rate: z.number(), ...outcome.shape });
const earlierMap = z.object({
  hardware: z.string(),
  settings: z.record(z.string(), z.string()),
  search: z.array(run),
  pilots: z.array(z.object({ ...place, ...pilotOutcome.shape })),
  variances: z.array(z.object({ ...place, ratio: interval })).default([]),
  runs: z.array(run),
});
export type EarlierMap = z.infer<typeof earlierMap>;

/**
 * Reads a map.json. Returns null if there is no file.
 * @throws C3Error('input') if the file is not a map
 */
export async function readEarlierMap(path: string): Promise<EarlierMap | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) {
    return null;
  }
  try {
    return earlierMap.parse(JSON.parse(text));
  } catch (cause) {
    throw new C3Error('input', `${path} is no map of c3 bench rho-map; move it away, or choose another --out.`, {
      cause,
    });
  }
}
