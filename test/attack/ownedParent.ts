/**
 * A process that owns programs of a user's, in each way in which the engine does: `ownedParent FOLDER`. A line on its
 * input cancels them, and it ends once none is owned.
 */

import { join } from 'node:path';
import { DriverProcess } from '../../src/engine/program/driverProcess.ts';
import { record } from '../../src/engine/record/recordProgram.ts';
import { EngineService } from '../../src/engine/service.ts';
import { makeCommandEvaluator } from '../../src/evaluate/command.ts';

const [folder = ''] = process.argv.slice(2);
const program = join(folder, 'hostile.sh');
const service = new EngineService(join(folder, 'c3.sqlite'));
const hostile = (owner: string): readonly [string, ...string[]] => ['/bin/sh', program, owner];
const problem = { uid: 'u', uidSha: '', question: '?', answer: '1', source: '', level: null };

/** Starts one program of each kind. @returns what is done once none is owned */
function start(signal: AbortSignal): Promise<unknown> {
  const settings = {
    command: hostile('record'),
    folder,
    maskSecrets: false,
    right: null,
    upstream: 'http://127.0.0.1:9/v1',
    served: null,
    quiet: true,
    onLine: () => undefined,
  };
  const driver = new DriverProcess({ name: 'driver', command: hostile('driver'), folder, timeLimit: 600_000 });
  const asked = driver.ask({}, signal).finally(() => driver.close());
  const scorer = makeCommandEvaluator({ command: hostile('command'), folder, timeLimit: 600_000 });
  return Promise.allSettled([record(service, settings, signal), asked, scorer.evaluate(problem, 'text', signal)]);
}

const controller = new AbortController();
const done = start(controller.signal);
process.stdin.once('data', () => controller.abort());
await done;
await service.close();
process.exit();
