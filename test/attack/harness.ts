/**
 * What all attack tests share: from which seed they draw, and how many inputs were tried and held.
 *
 * A file of this folder without `.test.` has the attacks of an area as a function of how many are tried. The test
 * beside it tries a sample; the one in test/long/attack tries all. C3_ATTACK_SEED tries other inputs of the same kinds.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';

/** The seed that is kept: what it found once is tried each time. */
const KEPT_SEED = 20_261_122;

/** Attacks of one area that were tried, and how many of them were held. */
export interface Totals {
  readonly area: string;
  readonly tried: number;
  readonly held: number;
}

export interface Tally {
  /** Counts an attack that was held. */
  held(what?: string): void;
  /** Counts an attack that was not held, and fails the test with the seed. */
  broken(what: string): never;
  /** Counts what `work` does: held when it ends, broken when it throws or rejects. */
  attempt(what: string, work: () => unknown): Promise<void>;
}

/** The seed of everything that is drawn: a constant, or C3_ATTACK_SEED. */
export function seed(): number {
  const given = process.env['C3_ATTACK_SEED'];
  if (given === undefined || given === '') {
    return KEPT_SEED;
  }
  assert.match(given, /^\d{1,9}$/u, 'C3_ATTACK_SEED is a number of up to nine digits');
  return Number(given);
}

/** Below this, time says nothing. */
const LEAST_MILLISECONDS = 10;

/**
 * How the processor time of this process grows when the work does tenfold: about 10 where it is linear, 100 where it is
 * quadratic.
 * @param work is done for `size` and for ten times as much
 */
export function growth(size: number, work: (size: number) => unknown): number {
  const cost = (of: number): number => {
    const before = process.cpuUsage();
    work(of);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  // The least of three, the first of which warms up.
  const small = Math.min(cost(size), cost(size), cost(size));
  return cost(10 * size) / Math.max(LEAST_MILLISECONDS, small);
}

/**
 * Work that grows tenfold may take so many times as long: well above linear work on a busy machine, well below
 * quadratic.
 */
export const MOST_GROWTH = 30;

const areas = new Map<string, { tried: number; held: number }>();

/** Counts the attacks of an area; the totals are printed when all tests of the file have ended. */
export function tally(area: string): Tally {
  const counts = areas.get(area) ?? { tried: 0, held: 0 };
  areas.set(area, counts);
  const held = (): void => {
    counts.tried += 1;
    counts.held += 1;
  };
  const broken = (what: string): never => {
    counts.tried += 1;
    assert.fail(`${area}, seed ${seed()}: ${what}`);
  };
  const attempt = async (what: string, work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (error) {
      broken(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
    held();
  };
  return { held, broken, attempt };
}

after(() => {
  const folder = process.env['C3_ATTACK_TOTALS'];
  const totals: Totals[] = [...areas].map(([area, counts]) => ({ area, ...counts }));
  for (const one of totals) {
    console.log(`${one.area}: tried ${one.tried}, held ${one.held}`);
  }
  if (folder !== undefined) {
    writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(totals));
  }
});
