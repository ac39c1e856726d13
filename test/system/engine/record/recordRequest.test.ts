/** A program that an editor records by way of the engine: what comes meanwhile, a cancel, and where its key is not. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import {
  type RecordProgress,
  RecordProgressNotification,
  REQUESTS,
} from '../../../../src/shared/protocols/engineProtocol.ts';
import { runtime, startEngine } from '../../../unit/engine/engineProcess.ts';
import { c3 } from '../../../unit/engine/workspace.ts';

const KEY = 'sk-c3-key-of-the-recorded-program-0123456789';
const OURS = 'sk-c3-key-of-ours-9876543210';

/** Says one message, prints two lines, and never ends by itself. */
const PROGRAM = `const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.THE_KEY, 'x-c3-role': 'planner' },
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello?' }] }),
});
await response.text();
console.log('window: ' + process.env.OF_THE_WINDOW + ', ours: ' + Object.keys(process.env).filter((name) => name.startsWith('C3_KEY_')).length);
console.error('ready');
setInterval(() => undefined, 1000);
`;

/** Every file below a folder that holds a text. */
const holding = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(text));

it('is shown while it runs, ends with a cancel and stays stored; its key and ours are in no file', async (t) => {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization);
    request.resume().on('end', () => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ model: 'm', choices }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = mkdtempSync(join(tmpdir(), 'c3-asked-'));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  writeFileSync(join(folder, 'team.mjs'), PROGRAM);
  const engine = await startEngine(t, folder, { C3_KEY_API_EXAMPLE_COM: OURS });
  const source = new CancellationTokenSource();
  const heard: RecordProgress[] = [];
  engine.connection.onNotification(RecordProgressNotification, (progress) => {
    heard.push(progress);
    // The program has said all that it says once both lines and the message are there.
    if (heard.length === 3) {
      source.cancel();
    }
  });
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  // The environment of the window, which the engine has not.
  const env = { PATH: process.env['PATH'] ?? '', OF_THE_WINDOW: 'yes', THE_KEY: KEY, C3_KEY_API_EXAMPLE_COM: OURS };
  const asked = {
    env,
    command: [process.execPath, 'team.mjs'],
    folder,
    upstream,
    serve: null,
    maskSecrets: false,
    right: null,
  } as const;
  const { report, ended } = await engine.connection.sendRequest(REQUESTS.record, { ...asked }, source.token);
  assert.deepEqual([ended, report.episodes, report.messages], ['SIGTERM', 1, 1]);
  assert.deepEqual(heard.map((one) => JSON.stringify(one)).sort(), [
    '{"line":"ready"}',
    '{"line":"window: yes, ours: 0"}',
    '{"messages":1}',
  ]);
  assert.deepEqual(keys, [`Bearer ${KEY}`]);
  assert.ok(!engine.log().includes(KEY));
  // What a fork of it costs at most is known before its program is started.
  const team = join(folder, 'team.yaml');
  const priced = 'model_name: m, prices: {input: 1, output: 2}';
  writeFileSync(team, `driver: [no-such-program]\npolicy: {endpoint: ${JSON.stringify(upstream)}, ${priced}}\n`);
  const fork = { message: 1, alternatives: 2, replays: 1, text: null, team };
  const [cost, ...others] = await engine.connection.sendRequest(REQUESTS.replayCosts, fork);
  assert.ok(cost !== undefined && cost.requests >= 2 && cost.money > 0, JSON.stringify(cost));
  assert.deepEqual([cost.role, cost.local, others, keys.length], ['planner', true, [], 1]);
  await engine.leave();
  for (const args of [
    ['report', '--run', report.run, '--out', 'report.html'],
    ['report', '--message', '1', '--out', 'message.html'],
    ['export', '--run', report.run, '--format', 'buckets', '--out', 'buckets.json'],
  ]) {
    const made = await c3(folder, args);
    assert.equal(made.code, 0, made.stderr);
  }
  for (const key of [KEY, OURS]) {
    assert.deepEqual([holding(folder, key), holding(runtime, key)], [[], []]);
  }
});
