/** Measures the energy of processors, if the system reports it (Linux, RAPL in /sys/class/powercap). */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const POWERCAP = '/sys/class/powercap';

/**
 * Begins to measure.
 * @returns a function that returns the joules of all processor packages since then, by all programs
 *   together; null if the system does not report them
 */
export function startEnergy(folder = POWERCAP): () => number | null {
  const start = readPackages(folder);
  return () => {
    const end = readPackages(folder);
    if (start.size === 0) {
      return null;
    }
    let joules = 0;
    for (const [name, { energy, range }] of start) {
      const later = end.get(name);
      if (later === undefined) {
        return null;
      }
      // The counter wraps around at its range.
      joules += (later.energy >= energy ? later.energy - energy : later.energy + range - energy) / 1e6;
    }
    return joules;
  };
}

/** Reads the counters in microjoules, by package; parts of a package are left out. */
function readPackages(folder: string): Map<string, { readonly energy: number; readonly range: number }> {
  const packages = new Map<string, { energy: number; range: number }>();
  try {
    for (const name of readdirSync(folder)) {
      if (!/^(?:intel|amd)-rapl:\d+$/u.test(name)) {
        continue;
      }
      const [energy = NaN, range = NaN] = ['energy_uj', 'max_energy_range_uj'].map((file) =>
        Number(readFileSync(join(folder, name, file), 'utf8')),
      );
      if (Number.isFinite(energy) && Number.isFinite(range)) {
        packages.set(name, { energy, range });
      }
    }
  } catch {
    // The counters are missing or not readable for this user: nothing is measured.
    return new Map();
  }
  return packages;
}
