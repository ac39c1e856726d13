/** A model of a folder that is served on this machine for as long as somebody holds it. */
import { basename, resolve } from 'node:path';
import { Holds, type Held } from '../../shared/holds.ts';
import { TEAM_TASKS } from '../../shared/runNames.ts';
import { takeLineModel } from '../lines/lineModel.ts';
import type { LoadControl } from '../models/models.ts';
import { bundledTeam } from '../places.ts';
import { drawToken } from './modelServer.ts';
import { openServer, type Served } from './serve.ts';

/** A folder with a model, and how requests name it. */
export interface ModelToServe {
  readonly folder: string;
  readonly name: string;
}

/** A model that answers on this machine to whoever has the key. */
export interface OwnServer extends Served {
  readonly key: string;
}

/** The model of a bundled task by its name, or else of a folder. @param folder that paths are relative to */
export function modelToServe(named: string, folder: string): ModelToServe {
  const task = TEAM_TASKS.find((one) => one === named);
  if (task !== undefined) {
    return { folder: bundledTeam(task), name: `c3-${task}` };
  }
  const path = resolve(folder, named);
  return { folder: path, name: basename(path) };
}

/**
 * Serves a model until it is disposed of.
 * @throws C3Error('model') where it cannot be loaded; CancelledError
 */
export async function serveFolder({ folder, name }: ModelToServe, control: LoadControl = {}): Promise<Held<OwnServer>> {
  const key = drawToken();
  await using holds = new Holds();
  const model = await holds.take(takeLineModel(folder, null, control));
  const served = await holds.take(openServer(model, name, { port: 0, token: key }));
  const held = holds.move();
  return { ...served, key, [Symbol.asyncDispose]: () => held[Symbol.asyncDispose]() };
}
