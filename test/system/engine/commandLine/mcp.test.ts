/** `c3 mcp` with the official client, on a store with a real run. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { main } from '../../../../src/engine/commandLine/main.ts';
import { programOf } from '../../../support/programs.ts';
import { c3, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  run = String(parseLine((await c3(workspace, ['run', 'tiny.c3.yaml', '--json'])).stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** @param answer what the user answers; null for a client that cannot ask */
function clientOf(answer: 'accept' | 'decline' | 'cancel' | null, asked: string[] = []): Client {
  const capabilities = answer === null ? {} : { elicitation: {} };
  const client = new Client({ name: 'test', version: '1' }, { capabilities });
  if (answer !== null) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: answer, content: {} };
    });
  }
  return client;
}

/** Connects a client with `c3 mcp` as a process of its own. */
async function connectApart(t: TestContext, client: Client): Promise<Client> {
  const command = { command: process.execPath, args: [programOf('cli'), 'mcp'], cwd: workspace };
  await client.connect(new StdioClientTransport(command));
  t.after(() => client.close());
  return client;
}

/** Connects a client with `c3 mcp` in this process, which ends by itself once its client leaves. */
async function connect(t: TestContext, client: Client): Promise<Client> {
  const [toServer, toClient] = [new PassThrough(), new PassThrough()];
  const served = main(['mcp'], {
    stdin: toServer,
    stdout: toClient,
    stderr: new PassThrough(),
    areInherited: false,
    folder: workspace,
    env: process.env,
    signal: new AbortController().signal,
  });
  // Lines of JSON are framed in the same way at both ends.
  await client.connect(new StdioServerTransport(toClient, toServer));
  t.after(async () => {
    await client.close();
    toServer.end();
    assert.equal(await served, 0);
    assert.equal(toServer.listenerCount('data'), 0);
  });
  return client;
}

const answerSchema = z.object({
  isError: z.boolean().optional(),
  content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]),
});
async function call(client: Client, name: string, args: Record<string, unknown>): Promise<[boolean, string]> {
  const { isError = false, content } = answerSchema.parse(await client.callTool({ name, arguments: args }));
  return [isError, content[0].text];
}
const rows = z.array(z.looseObject({ message: z.int(), link: z.string(), credit: z.object({ value: z.number() }) }));

describe('c3 mcp', () => {
  it('answers what a store holds, with links, and replays what the user agreed to', async (t) => {
    const asked: string[] = [];
    const client = await connectApart(t, clientOf('accept', asked));
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
      [
        ['list_runs', true],
        ['lowest_credit_messages', true],
        ['failure_taxonomy', true],
        ['finding', true],
        ['replay_message', false],
        ['message_that_lost', false],
        ['what_loses_episodes', false],
      ],
    );
    const [, runs] = await call(client, 'list_runs', {});
    assert.deepEqual(
      (JSON.parse(runs) as { run: string }[]).map((row) => row.run),
      [run],
    );
    const [, lowest] = await call(client, 'lowest_credit_messages', { run, limit: 5 });
    const found = rows.parse(JSON.parse(lowest));
    const [first] = found;
    assert.ok(first !== undefined);
    const link = `vscode://c3-replay.c3-replay/message/${first.message}?run=${run}&folder=${encodeURIComponent(workspace)}`;
    assert.equal(first.link, link);
    const [, finding] = await call(client, 'finding', { message: first.message });
    assert.equal(z.looseObject({ link: z.string() }).parse(JSON.parse(finding)).link, link);
    assert.equal((await call(client, 'failure_taxonomy', { run }))[0], false);

    const replays = (): number => withStore(workspace, (store) => store.countReplays(run));
    const before = replays();
    const args = { message: first.message, alternatives: 2, replays: 2 };
    const [isOver, over] = await call(client, 'replay_message', { ...args, max_evaluator_calls: 5 });
    assert.deepEqual([isOver, asked.length, replays()], [true, 0, before]);
    assert.match(over, /at most 6 evaluator calls, more than the 5 allowed; nothing was replayed/u);
    const [failed, result] = await call(client, 'replay_message', { ...args, max_evaluator_calls: 6 });
    assert.equal(failed, false, result);
    assert.match(asked.join(), /costs at most 6 evaluator calls/u);
    const { cost } = z
      .looseObject({ cost: z.object({ evaluatorCalls: z.int(), atMost: z.int() }) })
      .parse(JSON.parse(result));
    assert.ok(cost.evaluatorCalls >= 1 && cost.evaluatorCalls <= cost.atMost, result);
    assert.ok(replays() > before);

    // A custom message alone, with no sampled alternatives.
    const words = { message: first.message, alternatives: 0, replays: 2, text: '#### 1', max_evaluator_calls: 4 };
    const [isWrong, tried] = await call(client, 'replay_message', words);
    assert.equal(isWrong, false, tried);
    assert.match(asked.at(-1) ?? '', /with 0 alternatives, the words "#### 1" and 2 continuations costs at most 4/u);
    const texts = withStore(workspace, (store) =>
      store.bucketsFor(first.message).map(({ alternatives }) => alternatives.map(({ text }) => text)),
    );
    assert.ok(texts.some((one) => one.length === 2 && one[1] === '#### 1'));
    const [isRefused, why] = await call(client, 'replay_message', { ...words, result: '7', max_evaluator_calls: 9 });
    assert.deepEqual([isRefused, why.includes('Results of tools are edited in runs that were recorded')], [true, true]);
  });

  it('says which message lost an episode, and what loses those of a run, once the user agreed', async (t) => {
    const asked: string[] = [];
    const client = await connect(t, clientOf('accept', asked));
    const lost = withStore(workspace, (store) =>
      store
        .evaluations(run)
        .flatMap(({ iteration }) => store.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: 100 }))
        .find((one) => one.return === 0),
    );
    assert.ok(lost !== undefined);
    const search = { message: lost.leaf, max_evaluator_calls: 24 };
    const [failed, found] = await call(client, 'message_that_lost', search);
    assert.equal(failed, false, found);
    const { episode, evaluatorCalls, link } = z
      .looseObject({ episode: z.int(), evaluatorCalls: z.int(), sentence: z.string(), link: z.string() })
      .parse(JSON.parse(found));
    assert.deepEqual([episode, evaluatorCalls <= 24], [lost.leaf, true]);
    assert.match(link, /^vscode:\/\/c3-replay\.c3-replay\/message\/\d+\?run=/u);
    const [isWrong, losses] = await call(client, 'what_loses_episodes', { run, max_evaluator_calls: 60 });
    assert.equal(isWrong, false, losses);
    assert.match(
      z.looseObject({ sentence: z.string() }).parse(JSON.parse(losses)).sentence,
      /^(?:Of \d+ lost episodes?|No episode) /u,
    );
    assert.deepEqual(asked, [
      `Searching for the message that lost the episode of message ${lost.leaf} costs at most 24 evaluator calls. Go on?`,
      `Searching for what loses the episodes of run "${run}" costs at most 60 evaluator calls. Go on?`,
    ]);
    const mute = await connect(t, clientOf(null));
    assert.match((await call(mute, 'message_that_lost', search)).join(), /^true,.*ask the user, then call again/u);
    assert.match((await call(mute, 'what_loses_episodes', { run, max_evaluator_calls: 9 })).join(), /^true,.*ask the/u);
  });

  it('replays nothing that nobody agreed to, and refuses what is not there in one sentence', async (t) => {
    const replays = (): number => withStore(workspace, (store) => store.countReplays(run));
    const before = replays();
    const args = { message: 1, max_evaluator_calls: 100 };
    for (const answer of ['decline', 'cancel'] as const) {
      const client = await connect(t, clientOf(answer));
      assert.match(
        (await call(client, 'replay_message', { ...args, confirm: true })).join(),
        /^true,.*did not agree/u,
        answer,
      );
    }
    const mute = await connect(t, clientOf(null));
    assert.match(
      (await call(mute, 'replay_message', args)).join(),
      /^true,.*20 evaluator calls; nothing was replayed/u,
    );
    // A program is started where the user can be asked, and nowhere else.
    writeFileSync(join(workspace, 'team.yaml'), JSON.stringify({ driver: ['node', 'driver.mjs'] }));
    assert.match(
      (await call(mute, 'replay_message', { ...args, team: 'team.yaml', confirm: true })).join(),
      /^true,.*starts the program that "team\.yaml" names, .*; nothing was replayed: this client cannot ask/u,
    );
    assert.equal(replays(), before);
    assert.match((await call(mute, 'finding', { message: 999_999 })).join(), /^true,/u);
    assert.match((await call(mute, 'lowest_credit_messages', { run: '../x' })).join(), /^true,/u);
  });
});
