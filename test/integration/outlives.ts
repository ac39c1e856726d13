/** Runs that outlive what looks at them. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { listEngines } from '../support/engines.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { reading, reloadWindow, storeOf, TINY } from './team.ts';

const CLI = join(import.meta.dirname, '..', '..', 'dist', 'cli.js');

/** A configuration of so many steps and no evaluation, which leaves a core to the window. */
export function configOf(title: string, steps: number): string {
  return TINY.replace('Tiny', title)
    .replace('steps: 2', `steps: ${steps}`)
    .replace('{ instances: 8 }', '{ instances: 0 }')
    .concat('device: { threads: 1 }\n');
}

export interface Listed {
  readonly engine: { readonly pid: number } | null;
  readonly jobs: readonly { readonly title: string; readonly state: string }[];
}

/** `c3 status` from outside of the editor. */
export async function status(workbench: Workbench): Promise<Listed> {
  const env = { ...process.env, XDG_RUNTIME_DIR: workbench.server.runtime };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [CLI, 'status', '--json', '--store', storeOf(workbench.folder)],
    { env },
  );
  return JSON.parse(stdout) as Listed;
}

/** The extension hosts of a server's windows: its own Node processes that are no engine. */
function extensionHosts(workbench: Workbench): number[] {
  const { home } = workbench.server;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => {
      try {
        const [command, environment] = ['cmdline', 'environ'].map((file) =>
          readFileSync(join('/proc', name, file), 'utf8'),
        );
        return command?.includes('--type=extensionHost') === true && environment?.includes(`HOME=${home}\0`) === true
          ? [Number(name)]
          : [];
      } catch {
        // It has just ended.
        return [];
      }
    });
}

/** The engine of a window, which is one. */
export function engineOf(workbench: Workbench): number {
  const [pid, ...others] = listEngines(workbench.server.runtime);
  assert.ok(pid !== undefined && others.length === 0, 'one engine');
  return pid;
}

/** Does something while the engine stands still, so that what it does is not over before. */
export async function whileStill(workbench: Workbench, deed: () => Promise<void>): Promise<void> {
  const engine = engineOf(workbench);
  process.kill(engine, 'SIGSTOP');
  try {
    await deed();
  } finally {
    process.kill(engine, 'SIGCONT');
  }
}

export interface Disturbance {
  /** Of `outlives.c3.yaml`. */
  readonly steps: number;
  /** How often the window is loaded anew, and how often its extension host is killed. */
  readonly times: number;
  /** Whether the engine stands still while a window loads, so that a run of few steps is not over before. */
  readonly held: boolean;
}

/**
 * A run of `outlives.c3.yaml` is disturbed by what happens to its window, ends without one, and has the weights of an
 * undisturbed run.
 */
export async function outlives(workbench: Workbench, { steps, times, held }: Disturbance): Promise<void> {
  await workbench.openView('C3');
  await workbench.runCommandAndPick('C3: Start C3 run', 'outlives.c3.yaml', 'Default length');
  await workbench.statusBarItem('training, step').waitFor({ timeout: 120_000 });
  const pid = engineOf(workbench);
  const meanwhile = (deed: () => Promise<void>): Promise<void> => (held ? whileStill(workbench, deed) : deed());
  for (let time = 0; time < times; time++) {
    await meanwhile(() => reloadWindow(workbench));
    await workbench.openView('C3');
    await eventually(
      'the run in the status bar, or its end',
      async () =>
        (await workbench.statusBarItem('C3:').isVisible()) ||
        (await status(workbench)).jobs.every(({ state }) => state !== 'running'),
    );
  }
  for (let time = 0; time < times; time++) {
    const hosts = extensionHosts(workbench);
    assert.ok(hosts.length > 0, 'an extension host');
    for (const host of hosts) {
      process.kill(host, 'SIGKILL');
    }
    await eventually('the extension host to be gone', () =>
      extensionHosts(workbench).every((host) => !hosts.includes(host)),
    );
    await meanwhile(() => workbench.reload());
    await eventually('another extension host', () => extensionHosts(workbench).length > 0, 120_000);
  }
  assert.deepEqual(listEngines(workbench.server.runtime), [pid], 'one engine, the same');
  await workbench.page.goto('about:blank');
  await eventually(
    'the end of the run',
    () => reading(workbench, (store) => store.runs(0, 1)[0]?.status === 'done'),
    400_000,
  );
  const run = reading(workbench, (store) => store.runs(0, 1)[0]);
  assert.deepEqual([run?.status, run?.steps], ['done', steps]);
  const weights = reading(workbench, (store) => store.snapshotsOfRun(run?.id ?? '').map(({ id }) => id));
  const alone = join(workbench.folder, 'alone', 'c3.sqlite');
  await promisify(execFile)(process.execPath, [CLI, 'run', 'outlives.c3.yaml', '--store', alone], {
    cwd: workbench.folder,
  });
  const store = openStoreForReading(alone);
  try {
    assert.deepEqual(
      weights,
      store.snapshotsOfRun(store.runs(0, 1)[0]?.id ?? '').map(({ id }) => id),
      'bit for bit, at every step',
    );
  } finally {
    store.close();
  }
}
