/**
 * A run outlives what looks at it: reloads, a closed window, killed extension hosts; other windows and the command line
 * see it.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { enginesIn } from '../support/engines.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { reading, reloadWindow, storeOf, TINY } from './team.ts';
import { scaled } from '../support/scale.ts';

const STEPS = 36;
const ENDLESS = 5_000;
const CONFIG = TINY.replace('Tiny', 'Outlives')
  .replace('steps: 2', `steps: ${String(STEPS)}`)
  .replace('{ instances: 8 }', '{ instances: 0 }');
const CLI = join(import.meta.dirname, '..', '..', 'dist', 'cli.js');
const TIMES = scaled(5, 2);

const scenario = workbenchScenarios({
  // Its processes are looked for by the folder of its server.
  server: {},
  files: {
    'outlives.c3.yaml': CONFIG,
    // To be cancelled: however busy the machine is, it has not ended before.
    'endless.c3.yaml': CONFIG.replace('Outlives', 'Endless').replace(
      `steps: ${String(STEPS)}`,
      `steps: ${String(ENDLESS)}`,
    ),
    'next.c3.yaml': CONFIG.replace('Outlives', 'Next'),
  },
});

interface Listed {
  readonly engine: { readonly pid: number } | null;
  readonly jobs: readonly { readonly title: string; readonly state: string }[];
}

/** `c3 status` from outside of the editor. */
async function status(workbench: Workbench): Promise<Listed> {
  const env = { ...process.env, XDG_RUNTIME_DIR: workbench.server.runtime };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [CLI, 'status', '--json', '--store', storeOf(workbench.folder)],
    { env },
  );
  return JSON.parse(stdout) as Listed;
}

const steps = (workbench: Workbench): number => reading(workbench, (store) => store.runs(0, 1)[0]?.steps ?? 0);

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

scenario(
  'a run continues over reloads, killed extension hosts and a closed window, and ends with the weights of an undisturbed one',
  async (workbench) => {
    await workbench.openView('C3');
    await workbench.runCommandAndPick('C3: Start C3 run', 'outlives.c3.yaml', 'Default length');
    await workbench.statusBarItem('training, step').waitFor({ timeout: 120_000 });
    const [pid] = enginesIn(workbench.server.runtime);
    assert.ok(pid !== undefined);
    for (let time = 0; time < TIMES; time++) {
      await reloadWindow(workbench);
      await workbench.openView('C3');
      await eventually(
        'the run in the status bar, or its end',
        async () =>
          (await workbench.statusBarItem('C3:').isVisible()) ||
          (await status(workbench)).jobs.every(({ state }) => state !== 'running'),
      );
    }
    for (let time = 0; time < TIMES; time++) {
      const hosts = extensionHosts(workbench);
      assert.ok(hosts.length > 0, 'an extension host');
      for (const host of hosts) {
        process.kill(host, 'SIGKILL');
      }
      await eventually('the extension host to be gone', () =>
        extensionHosts(workbench).every((host) => !hosts.includes(host)),
      );
      await workbench.reload();
      await eventually('another extension host', () => extensionHosts(workbench).length > 0, 120_000);
    }
    assert.deepEqual(enginesIn(workbench.server.runtime), [pid], 'one engine, the same');
    await workbench.page.goto('about:blank');
    await eventually(
      'the end of the run',
      () => reading(workbench, (store) => store.runs(0, 1)[0]?.status === 'done'),
      400_000,
    );
    await workbench.reload();
    const run = reading(workbench, (store) => store.runs(0, 1)[0]);
    assert.deepEqual([run?.status, run?.steps], ['done', STEPS]);
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
  },
);

scenario(
  'a second window sees the run, queues another one and cancels both; c3 status lists them from outside',
  async (workbench) => {
    await workbench.openView('C3');
    await workbench.runCommandAndPick('C3: Start C3 run', 'endless.c3.yaml', 'Default length');
    await workbench.statusBarItem('training, step').waitFor({ timeout: 120_000 });
    const second = await workbench.openSecondWindow();
    await second.openView('C3');
    await second.statusBarItem('training, step').waitFor({ timeout: 120_000 });
    await second.runCommandAndPick('C3: Start C3 run', 'next.c3.yaml', 'Default length');
    await second.notification('"Next" is queued: it starts after "Endless"').waitFor();
    await workbench.statusBarItem('1 queued').waitFor();
    const waiting = workbench.treeItem(await workbench.openView('C3'), /Next.*queued/u);
    await waiting.waitFor();
    await second.screenshot('detached-queued');
    const { jobs } = await status(workbench);
    assert.deepEqual(
      jobs.filter(({ state }) => state !== 'finished').map(({ title, state }) => [title, state]),
      [
        ['Endless', 'running'],
        ['Next', 'queued'],
      ],
    );
    await waiting.hover();
    await waiting.getByRole('button', { name: 'Cancel run' }).click();
    await waiting.waitFor({ state: 'detached' });
    await workbench.statusBarItem('1 queued').waitFor({ state: 'detached' });
    await second.runCommand('C3: Cancel run');
    for (const window of [workbench, second]) {
      await window.statusBarItem('C3:').waitFor({ state: 'detached', timeout: 120_000 });
    }
    await eventually(
      'the cancelled run in the store',
      () => reading(workbench, (store) => store.runs(0, 1)[0]?.status) === 'cancelled',
    );
    assert.ok(steps(workbench) < ENDLESS);
  },
);
