/** Serves the model of a folder on this machine until it is disposed of. */

import { basename, resolve } from 'node:path';
import { Holds, type Held } from '../../shared/holds.ts';
import { TEAM_TASKS } from '../../shared/runNames.ts';
import { takeLineModel } from '../lines/lineModel.ts';
import type { LoadControl } from '../models/models.ts';
import { findBundledTeam } from '../places.ts';
import { drawToken } from './modelServer.ts';
import { openServer, type Served } from './serve.ts';

/** A model folder, and its name in requests. */
export interface ModelToServe {
  readonly folder: string;
  readonly name: string;
  /** The folder of an adapter of the model, in PEFT's layout; absent for the model alone. */
  readonly adapter?: string;
}

/** A server on this machine that answers clients with the key. */
export interface OwnServer extends Served {
  readonly key: string;
}

/**
 * Returns the model of a bundled task by its name, or of a folder.
 * @param folder base of relative paths
 */
export function findModelToServe(named: string, folder: string): ModelToServe {
  const task = TEAM_TASKS.find((one) => one === named);
  if (task !== undefined) {
    return { folder: findBundledTeam(task), name: `c3-${task}` };
  }
  const path = resolve(folder, named);
  return { folder: path, name: basename(path) };
}

/**
 * Serves a model until it is disposed of.
 * @throws C3Error('model') if it cannot be loaded; CancelledError
 */
export async function serveFolder(
  { folder, name, adapter }: ModelToServe,
  control: LoadControl = {},
): Promise<Held<OwnServer>> {
  const key = drawToken();
  await using holds = new Holds();
  const model = await holds.take(takeLineModel(folder, adapter ?? null, control));
  const served = await holds.take(openServer(model, name, { port: 0, token: key }));
  const held = holds.move();
  return { ...served, key, [Symbol.asyncDispose]: () => held[Symbol.asyncDispose]() };
}
