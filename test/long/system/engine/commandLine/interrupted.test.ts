/** Runs as processes of their own that are interrupted, waited for or killed. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { succeeded } from '../../../../system/engine/commandLine/documents.ts';
import {
  c3,
  copyOf,
  finished,
  hears,
  makeWorkspace,
  parseLine,
  startC3,
  withStore,
  type Finished,
} from '../../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  const ran = await c3(workspace, ['run', 'tiny.c3.yaml', '--json', '--override', 'seed=3']);
  run = String(parseLine(ran.stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

describe('c3 run', () => {
  it('ends as cancelled on an interrupt; others meanwhile hear who writes, can read, and wait for their turn or not, as they like', async (t) => {
    const folder = copyOf(t, workspace);
    const child = startC3(folder, ['run', 'tiny.c3.yaml', '--override', 'steps=2000']);
    const done = finished(child);
    child.stdin.end();
    await hears(child, 'Evaluating sampled, before training: 4 of 4');
    const waits = async (): Promise<[ReturnType<typeof startC3>, Promise<Finished>]> => {
      const other = startC3(folder, ['run', 'tiny.c3.yaml', '--json', '--override', 'steps=0']);
      const ended = finished(other);
      other.stdin.end();
      await hears(other, 'Ctrl+C stops waiting');
      return [other, ended];
    };
    const [second, ending] = await waits();
    second.kill('SIGINT');
    const left = await ending;
    assert.equal(left.code, 1);
    assert.match(
      left.stderr,
      new RegExp(
        `^Waiting for run c3-\\S+ \\(process ${String(child.pid)}\\), which is writing to the store; Ctrl\\+C stops waiting\\.\nCancelled; what was stored stays\\.\n$`,
      ),
    );
    succeeded(await c3(folder, ['taxonomy', '--run', run, '--json']));
    const [, patient] = await waits();
    child.kill('SIGINT');
    succeeded(await patient);
    const { code, stdout, stderr } = await done;
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /\nCancelled; what was stored stays\.\n$/);
    assert.deepEqual(
      withStore(folder, (store) => store.runs(0, 10).map(({ status }) => status)),
      ['done', 'cancelled', 'done'],
    );
  });

  it('leaves a store that the next command takes over when it is killed', async (t) => {
    const folder = copyOf(t, workspace);
    const child = startC3(folder, ['run', 'tiny.c3.yaml', '--override', 'steps=2000']);
    const done = finished(child);
    child.stdin.end();
    await hears(child, 'Evaluating sampled, before training: 4 of 4');
    child.kill('SIGKILL');
    await done;
    assert.equal(
      withStore(folder, (store) => store.runs(0, 1)[0]?.status),
      'running',
    );
    succeeded(await c3(folder, ['verify', '--run', run, '--sample', '2']));
    assert.deepEqual(
      withStore(folder, (store) => store.runs(0, 10).map(({ status }) => status)),
      ['failed', 'done'],
    );
  });
});
