/** `c3 record --mask-secrets`: keys that come in pieces, or in names. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Recording, type PassedCall } from '../../../../src/engine/record/recording.ts';
import { EngineService } from '../../../../src/engine/service.ts';

const KEY = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
const HALVES = [KEY.slice(0, 12), KEY.slice(12)];

const streamed = (delta: (half: string) => object): PassedCall['answer'] => [
  ...HALVES.map((half) => JSON.stringify({ choices: [{ delta: delta(half) }] })),
  JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
  '[DONE]',
];

test('a key that comes in two pieces of a stream, in words, arguments or names, is in no file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-masked-'));
  const service = new EngineService(join(folder, 'c3.sqlite'));
  t.after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const recording = new Recording(service, { program: 'node', folder, maskSecrets: true, right: null });
  const request = JSON.stringify({ messages: [{ role: 'user', content: [{ type: 'text', text: `Use ${KEY}.` }] }] });
  const call = {
    api: 'chat',
    episode: null,
    role: null,
    request,
    times: { start: null, seconds: null, firstTokenSeconds: null },
    otherwise: 'others',
  } as const;
  await recording.take({ ...call, answer: streamed((content) => ({ content })) });
  const inCall = (half: string): object => ({ tool_calls: [{ index: 0, function: { name: 'f', arguments: half } }] });
  await recording.take({ ...call, episode: `of ${KEY}`, role: `by ${KEY}`, answer: streamed(inCall) });
  assert.equal(recording.score(`of ${KEY}`, 1), true);
  const report = await recording.close();
  assert.deepEqual([report.messages, report.scored, report.leftOut], [2, 1, {}]);
  const text = service.reading((store) => store.message(1).text);
  assert.equal(text, 'sk-proj-[masked]');
  await service.close();
  for (const file of readdirSync(folder)) {
    assert.ok(!readFileSync(join(folder, file), 'latin1').includes(KEY.slice(12)), file);
  }
});

test('speakers of a recording get other names as they speak; names for nobody are said at its end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-renamed-'));
  const service = new EngineService(join(folder, 'c3.sqlite'));
  t.after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const renames = [['agent 1', 'planner'] as const, ['nobody', 'x'] as const];
  const recording = new Recording(service, { program: 'node', folder, maskSecrets: false, renames, right: null });
  const messages = [{ role: 'system', content: 'Plan.' }];
  const answer = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'done' } }] });
  const call = {
    api: 'chat',
    episode: null,
    role: null,
    request: JSON.stringify({ messages }),
    otherwise: '',
    times: { start: null, seconds: null, firstTokenSeconds: null },
  } as const;
  await recording.take({ ...call, answer });
  const { speakers } = await recording.close();
  assert.deepEqual(speakers, [{ name: 'planner', by: 'renamed', messages: 1 }]);
  assert.match(recording.renameFault ?? '', /called "nobody", to be renamed; those who spoke are "agent 1"\./u);
  assert.equal(
    service.reading((store) => store.fullMessage(1).role),
    'planner',
  );
});
