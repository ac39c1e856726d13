/** A role that a chat model of VS Code answers, by way of windows that come and go, and a real engine. */

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { createEngineClient, type EngineClient } from '../../../../src/client/engineClient.ts';
import { VERSION } from '../../../../src/engine/version.ts';
import type { EditorAnswer, EditorFailure } from '../../../../src/shared/protocols/editorProtocol.ts';
import { REQUESTS } from '../../../../src/shared/protocols/engineProtocol.ts';
import { programOf } from '../../../support/programs.ts';
import { startEngine, type EngineProcess } from '../../../unit/engine/engineProcess.ts';
import { c3, copyOf, errorOf, makeWorkspace, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** A copy of the workspace in which a chat model answers for the actor. */
function withChatModel(t: TestContext): string {
  const folder = copyOf(t, workspace);
  const path = join(folder, 'tiny.c3.yaml');
  writeFileSync(path, readFileSync(path, 'utf8').replace('steps: 2', 'steps: 0'));
  appendFileSync(path, 'policies:\n  actor: {vscode: {vendor: maker}, retries: 0}\n');
  return folder;
}

type Answer = (count: number, leave: () => Promise<void>) => EditorAnswer | EditorFailure | Promise<never>;
let counted = 0;
const saying: Answer = (count) => ({
  ...{ kind: 'answer', text: `${count} #### 4`, finish: 'end', prompt: 10, completion: 5 },
});

/** A window with a chat model. */
async function openWindow(t: TestContext, { store }: EngineProcess, answer: Answer): Promise<() => Promise<void>> {
  const ignored = (): void => undefined;
  const client: EngineClient = createEngineClient(
    {
      ...{ script: programOf('engine'), store, kind: 'window', version: VERSION },
      editor: {
        askWait: () => Promise.resolve({ kind: 'stop' }),
        open: () => Promise.resolve({ kind: 'open', vendor: 'maker', id: 'one', name: 'One' }),
        answer: async () => answer(counted++, () => client.dispose()),
      },
    },
    {
      ...{ log: ignored, jobs: ignored, runProgress: ignored, replayProgress: ignored, verifyProgress: ignored },
      ...{ testModelProgress: ignored, waiting: ignored, ready: ignored, ended: ignored },
    },
  );
  t.after(() => client.dispose());
  await client.attach();
  return () => client.dispose();
}

it('runs, and is replayed and verified as sampled; the command line has none', async (t) => {
  const folder = withChatModel(t);
  assert.match(errorOf(await c3(folder, ['run', 'tiny.c3.yaml'])), /and the command line has none; start this in VS C/);
  const engine = await startEngine(t, folder);
  const config = { config: join(folder, 'tiny.c3.yaml'), overrides: [] };
  // A window whose client knows nothing of chat models is one that offers none.
  await assert.rejects(engine.run(config), /VS Code offers no chat model for policies\.actor \(vendor maker\)/);
  const close = await openWindow(t, engine, saying);
  const { run, decisions } = await engine.run(config);
  assert.match(engine.log(), /The role actor is answered by a chat model of VS Code \(vendor maker\)/);
  assert.match(engine.log(), /does not keep to seeds: its messages are sampled, not exact/);
  const leaf = withStore(folder, (store) => {
    const spent = store.spent(run, 'actor');
    assert.deepEqual([spent.calls, spent.prompt], [decisions['actor'], 10 * spent.calls]);
    return store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 })[0]?.leaf ?? assert.fail();
  });
  const asked = { message: leaf, alternatives: 3, replays: 1, text: null };
  const { alternatives } = await engine.connection.sendRequest(REQUESTS.replay, asked);
  assert.equal(alternatives.length, 4);
  const verified = await engine.connection.sendRequest(REQUESTS.verify, { message: leaf, again: true });
  assert.deepEqual([verified.checked, verified.notComparable], [4, 4]);
  assert.ok(verified.returns !== undefined && verified.returns.p > 0);
  await close();
  await engine.leave();
  assert.match(errorOf(await c3(folder, ['verify'])), /and the command line has none/);
});

it('a window that closes while it answers is no score: another one goes on', async (t) => {
  const folder = withChatModel(t);
  const engine = await startEngine(t, folder);
  let left = false;
  await openWindow(t, engine, async (_count, leave) => {
    left = true;
    await leave();
    return assert.fail('nobody hears it');
  });
  await openWindow(t, engine, saying);
  const { run } = await engine.run({ config: join(folder, 'tiny.c3.yaml'), overrides: [] });
  assert.ok(left);
  const returns = withStore(folder, (store) =>
    store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 100 }).map((one) => one.return),
  );
  assert.ok(returns.length > 0 && returns.every((value) => value !== null));
});

it('answers for recorded agents by a team file; the command line has none', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-recorded-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const messages = [
    { role: 'user', content: 'What are 1 and 3?' },
    { role: 'assistant', name: 'planner', content: 'Add them.' },
    { role: 'assistant', name: 'writer', content: 'They are #### 5' },
  ];
  writeFileSync(join(folder, 'log.jsonl'), JSON.stringify({ messages }));
  assert.equal((await c3(folder, ['import', 'log.jsonl'])).code, 0);
  const message = 1;
  const asked = { as: 'user', text: [{ of: 'question' }] };
  const steps = [
    { role: 'planner', sees: [asked] },
    { role: 'writer', sees: [asked, { as: 'assistant', name: 'planner', text: [{ of: 1 }] }] },
  ];
  const team = join(folder, 'team.yaml');
  const policy = { vscode: { vendor: 'maker' }, retries: 0 };
  writeFileSync(team, JSON.stringify({ steps, contexts: 'program', evaluator: 'pattern', answer: '#### 4$', policy }));
  const sentence = /A chat model of VS Code answers for the role planner, and the command line has none;/;
  assert.match(errorOf(await c3(folder, ['replay', String(message), '--team', 'team.yaml'])), sentence);

  const engine = await startEngine(t, folder);
  await openWindow(t, engine, saying);
  const request = { message, alternatives: 1, replays: 1, text: null, team };
  const { alternatives } = await engine.connection.sendRequest(REQUESTS.replay, request);
  assert.deepEqual(
    alternatives.map(({ text, returns }) => [text.replace(/^\d+/u, 'n'), returns]),
    [
      ['Add them.', [1]],
      ['n #### 4', [1]],
    ],
  );
});
