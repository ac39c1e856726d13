/** Runs as jobs of an engine that outlives its clients: several at once, a queue, other processes, and kills. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectToEngine } from '../../../../src/client/startEngine.ts';
import { REQUESTS } from '../../../../src/shared/protocols/engineProtocol.ts';
import type { RunJob } from '../../../../src/shared/protocols/jobs.ts';
import { listEngines } from '../../../support/engines.ts';
import { newRecorded } from '../../../support/recordedStores.ts';
import { openDoor, runtime, startEngine, type Door } from '../../../unit/engine/engineProcess.ts';
import { c3, copyOf, finished, hears, parseLine, startC3, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let oldRun = '';
before(async () => {
  ({ folder: workspace, run: oldRun } = await newRecorded('pair'));
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const ask = ({ connection }: Door, folder: string, ...overrides: string[]): Promise<RunJob> =>
  connection.sendRequest(REQUESTS.startRun, { config: join(folder, 'tiny.c3.yaml'), overrides });
const ENDLESS = ['steps=5000', 'evaluation.instances=0'];
const lastWeights = (folder: string, run: string): string =>
  withStore(folder, (store) => store.snapshotsOfRun(run).at(-1)?.id ?? '');
const firstMessage = (folder: string): number =>
  withStore(
    folder,
    (store) => store.bucketsOfRun({ run: oldRun, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0,
  );

describe('an engine', () => {
  it('continues a run when its client leaves, shows it to the next one, and ends itself when nobody needs it', async (t) => {
    const folder = copyOf(t, workspace);
    const engine = await startEngine(t, folder, { C3_ENGINE_IDLE_SECONDS: '0.2' });
    const job = await ask(engine, folder, 'steps=12');
    await engine.heard(({ stage, done }) => stage === 'train' && done >= 1);
    await engine.leave();
    const next = await openDoor(t, engine.store);
    assert.equal(next.hello.pid, engine.pid);
    const [shown] = next.hello.list.jobs;
    assert.deepEqual([shown?.id, shown?.state], [job.id, 'running']);
    assert.ok((shown?.progress?.done ?? 0) >= 1, 'it knows at once how far the run is');
    const summary = await next.ended(job);
    const alone = await c3(copyOf(t, workspace), ['run', 'tiny.c3.yaml', '--json', '--override', 'steps=12']);
    assert.deepEqual(summary.tokens, parseLine(alone.stdout)['tokens']);
    await next.leave();
    assert.equal(await engine.exit, 0);
    assert.equal(await connectToEngine(engine.store), null);
    assert.ok(!existsSync(`${engine.store}.queue.json`));
  });

  it('serves two clients at once: both see the run, either cancels it, and replays of both share the store', async (t) => {
    const folder = copyOf(t, workspace);
    const first = await startEngine(t, folder);
    const second = await openDoor(t, first.store);
    const job = await ask(first, folder, ...ENDLESS);
    await Promise.all([first, second].map((door) => door.heard(({ stage, done }) => stage === 'train' && done >= 1)));
    const message = firstMessage(folder);
    const replays = await Promise.all(
      [first, second].map(({ connection }) =>
        connection.sendRequest(REQUESTS.replay, { message, alternatives: 1, replays: 1, text: null }),
      ),
    );
    assert.equal(new Set(replays.map(({ id }) => id)).size, 2);
    assert.deepEqual(await second.connection.sendRequest(REQUESTS.cancelRun, { job: job.id }), {
      cancelled: 'running',
    });
    await assert.rejects(first.ended(job), /cancelled/);
    // Neither holds the store now.
    assert.ok(!existsSync(`${first.store}.lock`));
  });

  it('alternates 50 writes with a command line that is never refused, and waits for a run of it by name', async (t) => {
    const folder = copyOf(t, workspace);
    const engine = await startEngine(t, folder);
    const bucket = withStore(folder, (store) => store.bucketsOfRun({ run: oldRun, offset: 0, limit: 1 })[0]?.id ?? 0);
    const label = (name: string): Promise<unknown> =>
      engine.connection.sendRequest(REQUESTS.label, { bucket, name, note: '' });
    const child = startC3(folder, [
      'run',
      'tiny.c3.yaml',
      '--override',
      ENDLESS[0] ?? '',
      '--override',
      ENDLESS[1] ?? '',
    ]);
    const ended = finished(child);
    child.stdin.end();
    await hears(child, 'Training: step 1');
    const waiting = label('after the run');
    const job = await ask(engine, folder, 'steps=0');
    const { jobs } = await engine.until((list) => list.jobs.some(({ waitingFor }) => waitingFor !== null));
    assert.match(jobs[0]?.waitingFor ?? '', new RegExp(`^Waiting for run c3-\\S+ \\(process ${String(child.pid)}\\)`));
    const elsewhere = withStore(folder, (store) => store.runs(0, 1)[0]?.id ?? '');
    assert.deepEqual(await engine.connection.sendRequest(REQUESTS.cancelRun, { job: elsewhere }), {
      cancelled: 'elsewhere',
    });
    assert.match((await ended).stderr, /Cancelled; what was stored stays/);
    await waiting;
    assert.equal((await engine.ended(job)).steps, 0);
    for (let turn = 0; turn < 50; turn++) {
      await label(`turn ${turn}`);
    }
    assert.equal(
      withStore(folder, (store) => store.labelsOfBucket(bucket).length),
      51,
    );
  });

  it('that is killed leaves its run interrupted and its queue to be started again; the same weights come of it', async (t) => {
    const folder = copyOf(t, workspace);
    const first = await startEngine(t, folder);
    const job = await ask(first, folder, 'steps=8');
    const queued = await ask(first, folder, 'steps=1');
    const { run } = await first.heard(({ stage, done }) => stage === 'train' && done >= 2);
    assert.ok(readFileSync(`${first.store}.queue.json`, 'utf8').includes(queued.id));
    process.kill(first.pid, 'SIGKILL');
    await first.exit;
    const status = parseLine((await c3(folder, ['status', '--json'])).stdout);
    assert.deepEqual([status['engine'], status['holder']], [null, null]);
    assert.deepEqual(
      (status['interrupted'] as { run: string }[]).map((one) => one.run),
      [run],
    );
    assert.deepEqual(
      (status['unstarted'] as { id: string }[]).map(({ id }) => id),
      [queued.id],
    );
    const second = await startEngine(t, folder);
    assert.deepEqual(
      second.hello.list.unstarted.map(({ id, overrides }) => [id, overrides]),
      [[queued.id, ['steps=1']]],
    );
    const summary = await second.resume(run ?? '');
    assert.deepEqual([summary.run, summary.steps], [run, 8]);
    const again = await second.connection.sendRequest(REQUESTS.restartJob, { job: queued.id });
    assert.equal((await second.ended(again)).steps, 1);
    assert.deepEqual(second.list().unstarted, []);
    const whole = copyOf(t, workspace);
    const undisturbed = String(
      parseLine((await c3(whole, ['run', 'tiny.c3.yaml', '--json', '--override', 'steps=8'])).stdout)['run'],
    );
    assert.equal(lastWeights(folder, run ?? ''), lastWeights(whole, undisturbed), 'bit for bit');
    assert.notEqual(job.id, again.id);
  });
});

describe('the command line', () => {
  it('hands runs to an engine, lists them, cancels them, and says how to go on', async (t) => {
    const folder = copyOf(t, workspace);
    const detach = async (...more: string[]): Promise<Record<string, unknown>> =>
      parseLine((await c3(folder, ['run', 'tiny.c3.yaml', '--detach', '--json', ...more])).stdout);
    assert.match((await c3(folder, ['status'])).stdout, /^Nothing is in progress in .*c3\.sqlite\.\n$/);
    const running = await detach('--override', 'steps=5000');
    const queued = await detach('--override', 'steps=1');
    assert.equal(queued['state'], 'queued');
    const listed = (await c3(folder, ['status'])).stdout.split('\n');
    assert.ok(
      listed[0]?.startsWith(`${String(running['id'])}  "Tiny team"`) === true && listed[0].includes('running'),
      listed.join('\n'),
    );
    assert.match(listed[1] ?? '', new RegExp(`^${String(queued['id'])}  "Tiny team"  queued$`));
    assert.match(
      (await c3(folder, ['cancel', String(running['id'])])).stdout,
      /is being cancelled; what is stored stays/,
    );
    const door = await openDoor(t, join(folder, '.c3', 'c3.sqlite'));
    const { jobs } = await door.until((list) => list.jobs.every(({ state }) => state === 'finished'));
    assert.deepEqual(
      jobs.map(({ outcome }) => outcome?.kind),
      ['cancelled', 'done'],
    );
    const wrong = await c3(folder, ['cancel', 'job-none']);
    assert.deepEqual(
      [wrong.code, wrong.stderr.includes('Nothing named "job-none" is in progress or queued')],
      [2, true],
    );
    const bad = await c3(folder, ['run', 'tiny.c3.yaml', '--detach', '--override', 'stepz=1']);
    assert.deepEqual([bad.code, bad.stderr.includes('did you mean steps?')], [2, true]);
    assert.ok(listEngines(runtime).length > 0, 'the engine lives on without any command');
  });
});
