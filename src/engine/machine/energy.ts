/** Energy that the processors took, where the system says it (Linux, RAPL under /sys/class/powercap). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const POWERCAP = '/sys/class/powercap';

/**
 * Begins to measure.
 * @returns a function that gives the joules of all processor packages since, whoever used them; null where the system
 *   does not say
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
      // The counter starts again at its range.
      joules += (later.energy >= energy ? later.energy - energy : later.energy + range - energy) / 1e6;
    }
    return joules;
  };
}

/** Counters in microjoules, by package; parts of a package are left out. */
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
    // Not there, or not for everyone to read: not measured.
    return new Map();
  }
  return packages;
}
