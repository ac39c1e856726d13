/**
 * A run goes on in the engine of a window while the same engine records hostile programs that ask a hostile server: the
 * run ends as an undisturbed one, in the same engine, and no program is left.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import { connectToEngine } from '../../../src/client/startEngine.ts';
import { readProcessEnvironment, listProcesses } from '../../../src/files/ownedProcess.ts';
import { InitializeRequest, PROTOCOL_VERSION, REQUESTS } from '../../../src/shared/protocols/engineProtocol.ts';
import { createSocketConnection } from '../../../src/shared/protocols/socketConnection.ts';
import { openStoreForReading, type StoreReader } from '../../../src/store/read/reader.ts';
import { HashedStream } from '../../../src/tasks/hashedStream.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { configOf, engineOf } from '../../integration/outlives.ts';
import { reading, storeOf } from '../../integration/team.ts';

const CLI = join(import.meta.dirname, '..', '..', '..', 'dist', 'cli.js');
const STEPS = 16;
/** Recordings that a run is disturbed by at least. */
const FEWEST = 6;
const TRIAL = 'c3-hostile-recordings';
/** Milliseconds in which the run ends on a slow machine. */
const ENDED = 400_000;
/** Runs, recordings among them, and credits that are read. */
const MOST = 1000;

/** Asks, floods its output, starts what leaves its group and ignores signals, and ends by itself or never. */
const PROGRAM = `const { spawn } = require('node:child_process');
process.on('SIGTERM', () => undefined);
spawn('/bin/sh', ['-c', 'trap "" HUP INT TERM; while :; do sleep 1000; done'], { detached: true, stdio: 'inherit' }).unref();
const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Was?' }] });
(async () => {
  for (let call = 0; call < 24; call++) {
    await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', body,
      headers: { 'content-type': 'application/json' }, signal: AbortSignal.timeout(500) }).then((one) => one.text()).catch(() => '');
    process.stdout.write('flood '.repeat(20000) + '\\n');
  }
  if (process.argv[1] === 'leaves') { process.exit(7); }
  setInterval(() => undefined, 1000);
})();`;

/** A server that resets, cuts, garbles and floods, one connection after the other. */
async function hostileServer(): Promise<{ readonly url: string; readonly close: () => void }> {
  const stream = new HashedStream('hostile recordings');
  const sockets = new Set<Socket>();
  const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word' } }] })}\n\n`;
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
  const whole = `${head}${event.length.toString(16)}\r\n${event}\r\n0\r\n\r\n`;
  const flood = `${(64 * event.length).toString(16)}\r\n${event.repeat(64)}\r\n`;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    socket.once('data', () => {
      switch (stream.integer(0, 4)) {
        case 0:
          socket.resetAndDestroy();
          break;
        case 1:
          socket.end(whole.slice(0, stream.integer(0, whole.length - 1)));
          break;
        case 2:
          socket.end(Buffer.from(Array.from({ length: 500 }, () => stream.integer(0, 255))));
          break;
        case 3: {
          const more = (): void => {
            while (!socket.destroyed && socket.write(flood)) {
              // As much as it takes.
            }
          };
          socket.write(head);
          socket.on('drain', more);
          more();
          break;
        }
        default:
          socket.end(whole);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => {
      server.close();
      for (const socket of sockets) {
        socket.destroy();
      }
    },
  };
}

const isDone = (workbench: Workbench): boolean =>
  reading(workbench, (store) =>
    store.runs(0, MOST).some(({ title, status }) => title === 'Disturbed' && status === 'done'),
  );

/** Records hostile programs, one after the other, until the run has ended. @returns how each ended */
async function disturb(workbench: Workbench, upstream: string): Promise<readonly string[]> {
  process.env['XDG_RUNTIME_DIR'] = workbench.server.runtime;
  const store = storeOf(workbench.folder);
  const socket = (await connectToEngine(store)) ?? assert.fail('the engine is not there');
  const connection = createSocketConnection(socket);
  connection.listen();
  await connection.sendRequest(InitializeRequest, { store, protocol: PROTOCOL_VERSION, client: 'window' });
  const ends: string[] = [];
  const env = { PATH: process.env['PATH'] ?? '', C3_TRIAL: TRIAL };
  while (!isDone(workbench) || ends.length < FEWEST) {
    const cancelling = new CancellationTokenSource();
    const leaves = ends.length % 2 === 0;
    const command = [process.execPath, '-e', PROGRAM, leaves ? 'leaves' : 'stays'] as const;
    const params = { command, folder: workbench.folder, upstream, serve: null, env, maskSecrets: false, right: null };
    const timer = setTimeout(() => cancelling.cancel(), 6000);
    ends.push(
      await connection.sendRequest(REQUESTS.record, params, cancelling.token).then(
        ({ ended }) => String(ended),
        (error: unknown) => String(error),
      ),
    );
    clearTimeout(timer);
  }
  socket.destroy();
  connection.dispose();
  return ends;
}

/** What the run of a store came to: its weights after each step, and its credits in their order. */
function outcome(store: StoreReader): object {
  const run = store.runs(0, MOST).find(({ title }) => title === 'Disturbed')?.id ?? '';
  return {
    snapshots: store.snapshotsOfRun(run).map(({ id }) => id),
    credits: store.creditsOfRun(run, 0, MOST).map(({ role, value, low, high }) => ({ role, value, low, high })),
  };
}

const scenario = workbenchScenarios({ server: {}, files: { 'disturbed.c3.yaml': configOf('Disturbed', STEPS) } });

scenario('a run ends undisturbed while its engine records hostile programs', async (workbench) => {
  await workbench.openView('C3');
  await workbench.runCommandAndPick('C3: Start C3 run', 'disturbed.c3.yaml', 'Default length');
  await workbench.statusBarItem('training, step').waitFor({ timeout: 120_000 });
  const engine = engineOf(workbench);
  const server = await hostileServer();
  try {
    const ends = await disturb(workbench, server.url);
    assert.ok(ends.length >= FEWEST);
    assert.deepEqual(
      ends.filter((end) => end !== '7' && end !== 'SIGKILL'),
      [],
      'by itself, or killed after a cancel that it ignored',
    );
  } finally {
    server.close();
  }
  await eventually('the end of the run', () => isDone(workbench), ENDED);
  assert.equal(engineOf(workbench), engine, 'the same engine');
  const left = listProcesses().filter(({ pid, hasEnded }) => !hasEnded && readProcessEnvironment(pid).includes(TRIAL));
  assert.deepEqual(left, []);
  const alone = join(workbench.folder, 'alone', 'c3.sqlite');
  await promisify(execFile)(process.execPath, [CLI, 'run', 'disturbed.c3.yaml', '--store', alone], {
    cwd: workbench.folder,
  });
  const disturbed = reading(workbench, outcome);
  const store = openStoreForReading(alone);
  try {
    assert.deepEqual(disturbed, outcome(store), 'to the bit, at every step');
    assert.equal(store.snapshotsOfRun(store.runs(0, 1)[0]?.id ?? '').length > STEPS - 1, true);
  } finally {
    store.close();
  }
});
