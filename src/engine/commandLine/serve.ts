/** `c3 serve`: the bundled or another model at the OpenAI-compatible protocol. */
import { once } from 'node:events';
import { basename, resolve } from 'node:path';
import { C3Error, nearestName } from '../../shared/errors.ts';
import { TASK_NAMES } from '../../shared/runNames.ts';
import { takeLineModel } from '../lines/lineModel.ts';
import { bundledTeam } from '../places.ts';
import { drawToken } from '../serve/modelServer.ts';
import { openServer } from '../serve/serve.ts';
import { readArguments, text, whole, type ParsedArguments } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, loadingPrinter } from './support.ts';

/** Where a token of the user's own is looked for: every user of a machine can read the arguments of a program. */
const TOKEN_VARIABLE = 'C3_SERVE_TOKEN';
const TOKEN = /^[\w.~+/=-]{16,512}$/u;
const MOST_PORT = 65_535;

/**
 * Serves a model on the loopback interface until it is interrupted.
 * @throws C3Error('input') for arguments that are wrong; C3Error('model') where the model cannot be loaded
 */
export async function serve(args: readonly string[], context: CommandContext): Promise<void> {
  await serveUntilStopped(args, context);
  context.note('The server has ended.');
}

async function serveUntilStopped(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const options = {
    ...JSON_FLAG,
    model: { type: 'string' },
    adapter: { type: 'string' },
    task: { type: 'string' },
    name: { type: 'string' },
    port: { type: 'string' },
  } as const;
  const parsed = readArguments('serve', args, options, 0);
  const { folder, name } = servedFolder(parsed, context);
  const adapter = text(parsed, 'adapter');
  const port = whole(parsed, 'port', 0, 0);
  if (port > MOST_PORT) {
    throw new C3Error('input', `--port needs a number of at most ${String(MOST_PORT)}, or 0 for one that is free.`);
  }
  const own = context.streams.env[TOKEN_VARIABLE];
  if (own !== undefined && !TOKEN.test(own)) {
    throw new C3Error('input', `${TOKEN_VARIABLE} needs 16 to 512 letters, digits or any of -._~+/=.`);
  }
  const token = own ?? drawToken();
  const adapterFolder = adapter === null ? null : resolve(context.folder, adapter);
  await using model = await takeLineModel(folder, adapterFolder, loadingPrinter(context));
  await using served = await openServer(model, text(parsed, 'name') ?? name, { port, token });
  const { url, model: called, snapshot } = served;
  if (parsed.values['json'] === true) {
    print(JSON.stringify({ url, model: called, snapshot, ...(own === undefined && { token }) }));
  } else {
    print(`${called} is served at ${url}; Ctrl+C ends it.`);
    print(own === undefined ? `Bearer token: ${token}` : `The bearer token is that of ${TOKEN_VARIABLE}.`);
  }
  if (!context.signal.aborted) {
    await once(context.signal, 'abort');
  }
}

/**
 * The folder that --model names, or that of a bundled team, and what it is called.
 * @throws C3Error('input') for both, and for a task without a team
 */
export function servedFolder(parsed: ParsedArguments, context: CommandContext): { folder: string; name: string } {
  const [model, task] = [text(parsed, 'model'), text(parsed, 'task')];
  if (model !== null) {
    if (task !== null) {
      throw new C3Error('input', 'Give --model or --task, not both.');
    }
    const folder = resolve(context.folder, model);
    return { folder, name: basename(folder) };
  }
  const known = TASK_NAMES.find((one) => one === (task ?? TASK_NAMES[0]));
  if (known === undefined) {
    const nearest = nearestName(task ?? '', TASK_NAMES);
    throw new C3Error(
      'input',
      `There is no bundled team for the task ${JSON.stringify((task ?? '').slice(0, 40))}; ${nearest === undefined ? `there are ${TASK_NAMES.join(', ')}` : `did you mean ${nearest}?`}`,
    );
  }
  return { folder: bundledTeam(known), name: `c3-${known}` };
}
