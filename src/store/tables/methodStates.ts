/**
 * The state of a run's method after each step, stored with the step's messages and credits. Methods without a state
 * have no rows.
 */

import type { Json } from '../../domain/episode.ts';
import type { StateTensor } from '../../domain/step.ts';
import { C3Error } from '../../shared/errors.ts';
import { damagedStoreError, withStoreErrors, type Session } from '../files/sqlite.ts';
import { viewAsBuffer, decodeFloat32, textHash } from '../tokens.ts';
import type { StoreReader, StoreWriter } from '../types.ts';
import { guardTriggers } from './schema.ts';

export const METHOD_STATE_COLUMNS = `name TEXT NOT NULL,
  version INTEGER NOT NULL,
  json TEXT NOT NULL,
  layout TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  tensors BLOB NOT NULL`;

/**
 * The SQL that adds them to a store. `layout` is JSON with name and shape of each tensor; `tensors`
 * has their float32 numbers, one tensor after the other.
 */
export const METHOD_STATES = `
CREATE TABLE method_state (
  run TEXT NOT NULL REFERENCES run,
  iteration INTEGER NOT NULL,
  ${METHOD_STATE_COLUMNS},
  PRIMARY KEY (run, iteration)
) STRICT;
${guardTriggers('method_state', 'run = NEW.run AND iteration = NEW.iteration')}
`;

/** Name and shape of a tensor. */
type Place = readonly [name: string, shape: readonly number[]];

interface StateRow {
  readonly name: string;
  readonly version: number;
  readonly json: string;
  readonly layout: string;
  readonly sha256: string;
  readonly tensors: Buffer;
}

export function methodStateReaders(session: Session): Pick<StoreReader, 'methodState'> {
  const { db, path } = session;
  const columns = 'name, version, json, layout, sha256, tensors';
  const first = db.prepare<[string, number], StateRow>(
    `SELECT ${columns} FROM method_state WHERE run = ? AND iteration = ?`,
  );
  const later = db.prepare<[string, number, number], StateRow>(
    `SELECT ${columns} FROM stage_state WHERE run = ? AND iteration = ? AND stage = ?`,
  );
  return {
    methodState: withStoreErrors(session, (run, iteration, stage = 0) => {
      const row = stage === 0 ? first.get(run, iteration) : later.get(run, iteration, stage);
      if (row === undefined) {
        return null;
      }
      if (hashMethodState(row) !== row.sha256) {
        throw damagedStoreError(
          path,
          `the method's state after step ${iteration} of run ${run} is not what was stored`,
        );
      }
      // The hash shows that the store wrote this JSON itself.
      const places = JSON.parse(row.layout) as readonly Place[];
      const numbers = decodeFloat32(row.tensors);
      let start = 0;
      const tensors = places.map(([name, shape]): [string, StateTensor] => {
        const end = start + countElements(shape);
        const data = numbers.slice(start, end);
        start = end;
        return [name, { shape, data }];
      });
      return {
        name: row.name,
        version: row.version,
        json: JSON.parse(row.json) as Json,
        tensors: Object.fromEntries(tensors),
      };
    }),
  };
}

export function methodStateWriter(session: Session): Pick<StoreWriter, 'insertMethodState'> {
  const insertFirst = session.db.prepare<[StateRow & { readonly run: string; readonly iteration: number }]>(`
    INSERT INTO method_state (run, iteration, name, version, json, layout, sha256, tensors)
    VALUES (@run, @iteration, @name, @version, @json, @layout, @sha256, @tensors)`);
  const insertLater = session.db.prepare<
    [StateRow & { readonly run: string; readonly iteration: number; readonly stage: number }]
  >(`
    INSERT INTO stage_state (run, iteration, stage, name, version, json, layout, sha256, tensors)
    VALUES (@run, @iteration, @stage, @name, @version, @json, @layout, @sha256, @tensors)`);
  return {
    insertMethodState: withStoreErrors(session, (run, iteration, { name, version, json, tensors }, stage = 0) => {
      const where = `the state ${name} after step ${iteration} of run ${run}`;
      refuseUnstorable(json, where);
      const entries = Object.entries(tensors);
      for (const [tensor, { shape, data }] of entries) {
        if (countElements(shape) === data.length && data.every(Number.isFinite)) {
          continue;
        }
        throw new C3Error(
          'store',
          `The tensor ${tensor} of ${where} has ${data.length} numbers for the shape [${shape.join(', ')}], or one that is not finite: nothing was stored.`,
        );
      }
      const row = {
        name,
        version,
        json: JSON.stringify(json),
        layout: JSON.stringify(entries.map(([tensor, { shape }]): Place => [tensor, shape])),
        tensors: Buffer.concat(entries.map(([, { data }]) => viewAsBuffer(data))),
      };
      const stored = { run, iteration, ...row, sha256: hashMethodState(row) };
      if (stage === 0) {
        insertFirst.run(stored);
      } else {
        insertLater.run({ ...stored, stage });
      }
    }),
  };
}

const hashMethodState = ({ name, version, json, layout, tensors }: Omit<StateRow, 'sha256'>): string =>
  textHash(JSON.stringify([name, version, json, layout, tensors.toString('base64')]));

const countElements = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1);

/**
 * Refuses numbers that are not finite, because JSON would write null for them.
 * @throws C3Error('store')
 */
function refuseUnstorable(json: Json, where: string): void {
  if (typeof json === 'number' && !Number.isFinite(json)) {
    throw new C3Error('store', `A number in ${where} is ${json}, which cannot be stored: nothing was stored.`);
  }
  if (typeof json === 'object' && json !== null) {
    for (const inner of Object.values(json)) {
      refuseUnstorable(inner, where);
    }
  }
}
