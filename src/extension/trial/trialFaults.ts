/** Checks a change before it is tried, and describes each fault in one sentence. Pure. */

import { IMPORTED } from '../../domain/episode.ts';
import { parseStepName } from '../../domain/replay.ts';
import type { RunRecord } from '../../domain/run.ts';
import { parsePrices } from '../../domain/trial.ts';
import { findEndpointFault } from '../../shared/endpointAddress.ts';

/** Minimum number of digits of a snapshot. Fewer could be a step. */
const LEAST_DIGITS = 4;
/** Maximum length of the name of a server's model in characters, as in a configuration. */
const MOST_MODEL_NAME = 200;

/** The part of the store that is read. */
interface RunRows {
  run(run: string): Pick<RunRecord, 'title' | 'method'>;
  evaluations(run: string): readonly unknown[];
}

/** Returns the reason why no change of a run's team can be tried, or null if one can. */
export function findRunFault(reader: RunRows, run: string): string | null {
  const { title, method } = reader.run(run);
  return method !== IMPORTED && reader.evaluations(run).length === 0
    ? `The run "${title}" has no evaluation, and a change is tried on its problems; choose another run.`
    : null;
}

/**
 * Returns the fault of a text that should name a snapshot, or null. @param snapshots hashes of the
 * run's snapshots
 */
export function findSnapshotFault(text: string, steps: number, snapshots: readonly string[]): string | null {
  const name = text.trim();
  const step = parseStepName(name);
  if (step !== null) {
    return step > steps ? `The run has ${steps} steps.` : null;
  }
  if (!/^[0-9a-f]+$/u.test(name) || name.length < LEAST_DIGITS) {
    return `A step from 0 to ${steps}, or the first ${LEAST_DIGITS} or more digits of a snapshot.`;
  }
  const found = new Set(snapshots.filter((id) => id.startsWith(name))).size;
  return found === 1
    ? null
    : found === 0
      ? 'The run has no such snapshot.'
      : 'Several snapshots begin with these digits: add more.';
}

/** Returns the fault of a server's address, or null if it is valid. */
export function findServerAddressFault(text: string): string | null {
  const fault = findEndpointFault(text);
  return fault === null ? null : `The address ${fault}.`;
}

/** Returns the fault of the name of a server's model, or null if it is valid. */
export function findModelNameFault(text: string): string | null {
  const { length } = text.trim();
  return length > 0 && length <= MOST_MODEL_NAME
    ? null
    : `The name of a model on the server has 1 to ${MOST_MODEL_NAME} characters.`;
}

/** Returns the fault of the prices of a server, or null if they are valid or omitted. */
export const findPricesFault = (text: string): string | null =>
  text.trim() === '' || parsePrices(text) !== null ? null : 'Two prices, such as 2, 8, or nothing.';
