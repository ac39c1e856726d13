/** `c3 serve`: serves the bundled model or another one over the OpenAI-compatible protocol. */

import { once } from 'node:events';
import { basename, resolve } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import { TASK_NAMES } from '../../shared/runNames.ts';
import { takeLineModel } from '../lines/lineModel.ts';
import { findBundledTeam } from '../places.ts';
import { drawToken } from '../serve/modelServer.ts';
import { openServer } from '../serve/serve.ts';
import type { CommandContext } from './command.ts';
import type { Given, OptionsGiven } from './declared/declaration.ts';
import type { SERVE, SERVED } from './declared/programs.ts';
import { createLoadingPrinter } from './support.ts';

/** Variable of the user's own token. Arguments of a program are visible to every user of a machine. */
const TOKEN_VARIABLE = 'C3_SERVE_TOKEN';
const TOKEN = /^[\w.~+/=-]{16,512}$/u;
const MOST_PORT = 65_535;

/**
 * Serves a model on the loopback interface until it is interrupted.
 * @throws C3Error('input') for wrong arguments; C3Error('model') if the model cannot be loaded
 */
export async function serve(given: Given<typeof SERVE>, context: CommandContext): Promise<void> {
  await serveUntilStopped(given, context);
  context.note('The server has ended.');
}

async function serveUntilStopped(given: Given<typeof SERVE>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { folder, name } = findServedFolder(given, context);
  const { adapter, port } = given;
  if (port > MOST_PORT) {
    throw new C3Error('input', `--port needs a number of at most ${MOST_PORT}, or 0 for one that is free.`);
  }
  const own = context.streams.env[TOKEN_VARIABLE];
  if (own !== undefined && !TOKEN.test(own)) {
    throw new C3Error('input', `${TOKEN_VARIABLE} needs 16 to 512 letters, digits or any of -._~+/=.`);
  }
  const token = own ?? drawToken();
  const adapterFolder = adapter === null ? null : resolve(context.folder, adapter);
  await using model = await takeLineModel(folder, adapterFolder, createLoadingPrinter(context));
  await using served = await openServer(model, given.name ?? name, { port, token });
  const { url, model: called, snapshot } = served;
  if (given.json) {
    print(JSON.stringify({ url, model: called, snapshot, ...(own === undefined && { token }) }));
  } else {
    print(`${called} is served at ${url}; Ctrl+C ends it.`);
    print(own === undefined ? `Bearer token: ${token}` : `The bearer token is the value of ${TOKEN_VARIABLE}.`);
  }
  if (!context.signal.aborted) {
    await once(context.signal, 'abort');
  }
}

/**
 * Returns the folder and the name of the model that --model names, or of a bundled team.
 * @throws C3Error('input') if both are given
 */
export function findServedFolder(
  { model, task }: OptionsGiven<typeof SERVED>,
  context: CommandContext,
): { folder: string; name: string } {
  if (model !== null) {
    if (task !== null) {
      throw new C3Error('input', 'Give --model or --task, not both.');
    }
    const folder = resolve(context.folder, model);
    return { folder, name: basename(folder) };
  }
  const named = task ?? TASK_NAMES[0];
  return { folder: findBundledTeam(named), name: `c3-${named}` };
}
