/**
 * Models and agents of others in a real VS Code: a chat model that another extension offers, what a replay costs at
 * most, keys of servers, the tools of a chat, and a program that is recorded.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, openFromEpisodes, reading } from './team.ts';

const CHAT = (vendor: string): string => `title: Chat ${vendor}
steps: 0
evaluation: { instances: 2 }
device: { threads: 1 }
policies:
  actor: { vscode: { vendor: ${vendor} } }
`;
/** A program with two agents, which knows nothing of C3. */
const PROGRAM = `const ask = async (system, content) => {
  const messages = [{ role: 'system', content: system }, { role: 'user', content }];
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'm', messages }),
  });
  return (await response.json()).choices[0].message.content;
};
const plan = await ask('You plan.', 'How far is the moon?');
console.log('the plan is there');
await ask('You answer.', 'How far is the moon? ' + plan);
`;

let upstream = '';
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const message = { role: 'assistant', content: 'About 384,400 km.' };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  });
});
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const scenario = workbenchScenarios({
  files: { 'nobody.c3.yaml': CHAT('nobody'), 'chat.c3.yaml': CHAT('c3-test'), 'team.mjs': PROGRAM },
  settings: { 'c3.replay.alternatives': 2, 'c3.replay.replays': 1 },
  server: {
    settings: { 'chat.disableAIFeatures': false },
    beside: [join(import.meta.dirname, '..', 'fixtures', 'chatModel')],
  },
});

scenario('a chat model of VS Code answers for a role, and a replay says what it costs first', async (workbench) => {
  const { page } = workbench;
  await workbench.runCommandAndPick('C3: Start C3 run', /nobody\.c3\.yaml/u, 'Default length');
  await workbench
    .notification(
      /offers no chat model for policies\.actor \(vendor nobody\); name one of those that it offers, .*adder/u,
    )
    .waitFor();
  await workbench.screenshot('chat-model-missing');

  await workbench.runCommandAndPick('C3: Start C3 run', /chat\.c3\.yaml/u, 'Default length');
  const run = await eventually('the run to end', () =>
    Promise.resolve(reading(workbench, (store) => store.runs(0, 5).find(({ status }) => status === 'done')?.id)),
  );
  const { leaf, question } = reading(workbench, (store) => {
    const [first] = store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 });
    return first ?? assert.fail();
  });
  assert.match(
    reading(workbench, (store) => store.message(leaf).text),
    /^Answer \d+: #### \d$/u,
  );

  await openFromEpisodes(workbench, question.slice(0, 40));
  const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
  // It opens at the message that ended the episode.
  await transcript.getByText(/A chat model of VS Code\./u).waitFor();
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  const box = page.locator('.monaco-dialog-box');
  await box.getByText(/At most 2 requests to the endpoint of the role actor, [\d,]+ tokens/u).waitFor();
  await workbench.screenshot('cost-modal');
  await workbench.confirm('Replay');
  // Two others beside the message itself, each with its return.
  await eventually('the replays', () => Promise.resolve(reading(workbench, (store) => store.countReplays(run) === 3)));
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden' });
  await transcript.locator('section.bucket li.alternative:not(.own)').first().waitFor();
  await workbench.screenshot('chat-model-replayed');
  assertQuiet(workbench);
});

scenario('the tools of a chat are there, and answer', async (workbench) => {
  const path = join(workbench.folder, 'tool.json');
  await workbench.runCommand('Test: Ask C3 by its tool');
  await eventually('the answer of the tool', () => Promise.resolve(existsSync(path)));
  const { names, text } = JSON.parse(readFileSync(path, 'utf8')) as { names: string[]; text: string };
  assert.equal(names.length, 7);
  assert.match(text, /"title":\s*"Chat c3-test"/u);
});

scenario('the tool that replays asks first with its cost, and keeps to the limit', async (workbench) => {
  const [asks, says] = ['replay-asked.json', 'replay-said.json'].map((name) => join(workbench.folder, name));
  assert.ok(asks !== undefined && says !== undefined);
  const stored = (): { readonly message: number; readonly replays: number } =>
    reading(workbench, (store) => {
      const [run] = store.runs(0, 1);
      assert.ok(run !== undefined);
      const [first] = store.episodes({ run: run.id, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 });
      return { message: first?.leaf ?? assert.fail(), replays: store.countReplays(run.id) };
    });
  const { message, replays } = stored();
  const asked = { message, alternatives: 0, replays: 1, text: '#### 1', max_evaluator_calls: 2 };
  const dialog = workbench.page.locator('.monaco-dialog-box');
  const replay = async (
    input: object,
    button: string,
  ): Promise<{ readonly text?: string; readonly error?: string }> => {
    rmSync(says, { force: true });
    writeFileSync(asks, JSON.stringify(input));
    await workbench.runCommand('Test: Replay by the tool');
    await dialog.getByText('Replay this message?').waitFor();
    await dialog.getByText(/the words "#### 1" and 1 continuations costs at most 2 evaluator calls/u).waitFor();
    await workbench.screenshot(`replay-tool-${button}`);
    await workbench.confirm(button);
    await eventually('the answer of the tool', () => Promise.resolve(existsSync(says)));
    return JSON.parse(readFileSync(says, 'utf8')) as { text?: string; error?: string };
  };

  assert.match((await replay(asked, 'Cancel')).error ?? '', /cancel/iu);
  assert.match((await replay({ ...asked, max_evaluator_calls: 1 }, 'Yes')).error ?? '', /more than the 1 allowed/u);
  assert.equal(stored().replays, replays);
  const { text, error } = await replay(asked, 'Yes');
  assert.equal(error, undefined);
  assert.match(text ?? '', /#### 1/u);
  assert.equal(stored().replays, replays + 2);
  assertQuiet(workbench);
});

scenario('the key of a server is asked for in two steps, and is hidden', async (workbench) => {
  const { page } = workbench;
  await workbench.runCommand('C3: Set endpoint key');
  const input = page.locator('.quick-input-widget:visible');
  await input.getByText('Set endpoint key (1 of 2)').waitFor();
  await workbench.answer('https://api.example.com/v1');
  await input.getByText('Set endpoint key (2 of 2)').waitFor();
  assert.equal(await input.locator('input.input').getAttribute('type'), 'password');
  await workbench.screenshot('endpoint-key');
  await workbench.answer('sk-c3-typed-by-the-user');
  await workbench.notification('Key of api.example.com set.').waitFor();
});

scenario('a program of the user is recorded, and its transcript opens', async (workbench) => {
  const { page } = workbench;
  await workbench.runCommand('C3: Record agents');
  const input = page.locator('.quick-input-widget:visible');
  await input.getByText('Record agents (1 of 4)').waitFor();
  await workbench.answer('node team.mjs');
  await workbench.pick('Another server…');
  await input.getByText('The base address of the server.').waitFor();
  await workbench.answer(upstream);
  await input.getByText('Record agents (3 of 4)').waitFor();
  await workbench.answer('384,400');
  await workbench.pick('Mask keys');
  await workbench.notification(/1 episode from the calls of a program, with 2 messages/u).waitFor();
  const transcript = await workbench.webview('How far is the moon?');
  await transcript.getByText('About 384,400 km.').first().waitFor();
  await workbench.screenshot('recorded');
  assertQuiet(workbench);
});
