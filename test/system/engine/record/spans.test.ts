/** Batches of spans lie in a file beside the store before they are acknowledged, and a flood of them is refused. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { record } from '../../../../src/engine/record/recordProgram.ts';
import { EngineService } from '../../../../src/engine/service.ts';

const TOKEN = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH';
/** Begins four batches without an end, sends one that is refused, gives them up, and sends one that is taken. */
const PROGRAM = `const http = require('node:http');
const url = process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
const messages = (role, content) => ({ key: 'gen_ai.' + (role === 'user' ? 'input' : 'output') + '.messages',
  value: { stringValue: JSON.stringify([{ role, parts: [{ type: 'text', content }] }]) } });
const span = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), name: 'chat m', startTimeUnixNano: '1', endTimeUnixNano: '2',
  attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }, messages('user', 'Was?'), messages('assistant', 'planted ${TOKEN}')] };
const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
const post = () => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).then(({ status }) => status);
const open = () => new Promise((resolve) => {
  const request = http.request(url, { method: 'POST', headers: { 'content-type': 'application/json', expect: '100-continue' } });
  request.on('error', () => undefined).on('continue', () => { request.write('{'); resolve(request); }).flushHeaders();
});
(async () => {
  const requests = [await open(), await open(), await open(), await open()];
  console.log('flooded ' + await post());
  requests.forEach((request) => request.destroy());
  for (;;) {
    const status = await post();
    if (status === 200) { console.log('taken ' + status); break; }
  }
  setInterval(() => undefined, 1000);
})();`;

it('a batch is in a file once it is acknowledged, masked, and in the store alone at the end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-spans-'));
  const service = new EngineService(join(folder, 'c3.sqlite'));
  t.after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const spanFiles = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.spans.jsonl'));
  const lines: string[] = [];
  const ending = new AbortController();
  let kept = '';
  const { report } = await record(
    service,
    {
      command: [process.execPath, '-e', PROGRAM],
      folder,
      maskSecrets: true,
      right: null,
      upstream: 'http://127.0.0.1:9/v1',
      served: null,
      quiet: true,
      onLine: (line) => {
        lines.push(line);
        if (line.startsWith('taken')) {
          kept = spanFiles()
            .map((name) => readFileSync(join(folder, name), 'utf8'))
            .join('');
          ending.abort();
        }
      },
    },
    ending.signal,
  );
  assert.deepEqual(lines, ['flooded 503', 'taken 200']);
  assert.match(kept, /planted/u);
  assert.doesNotMatch(kept, /abcdefghijklmnop/u);
  assert.deepEqual([report.messages, report.masked, spanFiles()], [1, 1, []]);
  const reasons = Object.keys(report.leftOut);
  assert.ok(reasons.some((reason) => /too many others were being read, which were refused/u.test(reason)));
  assert.ok(reasons.some((reason) => /cut off/u.test(reason)));
});
