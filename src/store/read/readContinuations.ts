/** Finds replay requests whose weights or temperature differ from those of their message. */

import type { OtherContinuation } from '../../domain/replay.ts';
import { OTHER_MODEL, toWeightsStep } from '../../domain/snapshot.ts';
import { OWN_TEMPERATURE } from '../conditions.ts';
import { withStoreErrors, type Session } from '../files/sqlite.ts';
import { throwNotFound } from '../rows.ts';
import type { StoreReader } from '../types.ts';

interface OwnRow {
  readonly snapshot: string;
  readonly step: number;
  readonly temperature: number | null;
}

interface Row {
  readonly ownSnapshot: string;
  readonly ownStep: number;
  readonly ownBase: string;
  readonly ownTemperature: number | null;
  readonly snapshot: string;
  readonly step: number;
  readonly base: string;
  readonly temperature: number | null;
}

export function ownContinuationReader(session: Session): Pick<StoreReader, 'ownContinuation'> {
  const read = session.db.prepare<[number], OwnRow>(`
    SELECT own.weights AS snapshot, own.iteration AS step, ${OWN_TEMPERATURE} AS temperature FROM decision AS said JOIN snapshot AS own ON own.id = said.snapshot WHERE said.id = ?`);
  return {
    ownContinuation: withStoreErrors(session, (message) => {
      const { snapshot, step, temperature } = read.get(message) ?? throwNotFound(session, 'message', message);
      return { snapshot, step: toWeightsStep(step), temperature };
    }),
  };
}

/** Returns the continuation of a request if it differs from that of its message, else null. */
export type ReadContinuation = (bucket: number) => OtherContinuation | null;

export function continuationReader({ db }: Session): ReadContinuation {
  const read = db.prepare<[number], Row>(`
    SELECT own.weights AS ownSnapshot, own.iteration AS ownStep, own.base AS ownBase, ${OWN_TEMPERATURE} AS ownTemperature,
      used.weights AS snapshot, used.iteration AS step, used.base AS base,
      (SELECT temperature FROM decision AS sampled WHERE sampled.bucket = bucket.id LIMIT 1) AS temperature
    FROM bucket JOIN decision AS said ON said.id = bucket.message JOIN snapshot AS own ON own.id = said.snapshot JOIN snapshot AS used ON used.id = bucket.snapshot
    WHERE bucket.id = ? AND origin = 'request'`);
  return (bucket) => {
    const row = read.get(bucket);
    if (row === undefined) {
      return null;
    }
    const own = { snapshot: row.ownSnapshot, step: toWeightsStep(row.ownStep), temperature: row.ownTemperature };
    // If nothing was sampled yet, the temperature is that of the message.
    const temperature = row.temperature ?? own.temperature;
    const differs = {
      snapshot: row.snapshot !== own.snapshot,
      temperature: own.temperature !== null && temperature !== own.temperature,
      model: otherModelName(row.step, row.base) !== otherModelName(row.ownStep, row.ownBase),
    };
    if (!differs.snapshot && !differs.temperature) {
      return null;
    }
    return {
      snapshot: row.snapshot,
      step: toWeightsStep(row.step),
      temperature,
      model: otherModelName(row.step, row.base),
      differs,
      own,
    };
  };
}

const otherModelName = (iteration: number, base: string): string | null => (iteration === OTHER_MODEL ? base : null);
