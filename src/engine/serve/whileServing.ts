/** A model that is served here for as long as something works. */
import { basename, resolve } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import { TEAM_TASKS } from '../../shared/runNames.ts';
import { withLineModel } from '../lines/lineModel.ts';
import type { LoadControl } from '../models/models.ts';
import { bundledTeam } from '../places.ts';
import { drawToken } from './modelServer.ts';
import { serveModel, type Served } from './serve.ts';

/** A folder with a model, and how requests name it. */
export interface ModelToServe {
  readonly folder: string;
  readonly name: string;
}

/** A model that answers on this machine to whoever has the key. */
export interface ServedHere extends Served {
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
 * Serves a model while something works, whatever becomes of it.
 * @throws C3Error('model') where it cannot be loaded; C3Error('engine') where it ends first; CancelledError
 */
export function whileServing<Result>(
  { folder, name }: ModelToServe,
  work: (served: ServedHere) => Promise<Result>,
  control: LoadControl = {},
): Promise<Result> {
  const key = drawToken();
  const stopping = new AbortController();
  return withLineModel(
    folder,
    null,
    async (model) => {
      const listening = Promise.withResolvers<Served>();
      const serving = serveModel(model, name, { port: 0, token: key }, listening.resolve, stopping.signal);
      try {
        const served = await Promise.race([listening.promise, serving]);
        if (served === undefined) {
          throw new C3Error('engine', 'The model server ended before anything was asked.');
        }
        return await work({ ...served, key });
      } finally {
        stopping.abort();
        await serving;
      }
    },
    control,
  );
}
