/** Recorded episodes continued by the protocol that their log shows, and results of tools that are edited. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { ReplayResult } from '../../../../src/domain/replay.ts';
import { prepareRunSearch, prepareSearch } from '../../../../src/engine/assistant/askedReplay.ts';
import { createMcpServer } from '../../../../src/engine/mcp/server.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { writeInferredTeam } from '../../../../src/logs/recordedEpisode.ts';
import { startAnsweringServer } from '../../../support/answeringServer.ts';

const CONTROL = { signal: new AbortController().signal, onProgress: () => undefined };
const QUESTION = 'How many toys are 12 and 7?';
const CALLS = [{ id: 'a', type: 'function', function: { name: 'sum', arguments: '[12,7]' } }];
/** A planner that calls a tool, and a writer that is asked with all of it. */
const CONVERSATION = {
  messages: [
    { role: 'user', content: QUESTION },
    { role: 'assistant', name: 'planner', content: null, tool_calls: CALLS },
    { role: 'tool', tool_call_id: 'a', content: '19' },
    { role: 'assistant', name: 'writer', content: 'They are 19 toys.' },
  ],
};

/** The same, lost by its writer. */
const LOST = {
  messages: [...CONVERSATION.messages.slice(0, 3), { role: 'assistant', name: 'writer', content: 'So 5.' }],
  reward: 0,
};
const withResult = (text: string): string => text.replace('- event: sum', "- event: sum\n    text: '19'");

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
}

/** A server that repeats what a tool gave, and else guesses. */
async function serverOf(t: TestContext, guess: string): Promise<{ readonly url: string; readonly asked: Asked[] }> {
  const asked: Asked[] = [];
  const url = await startAnsweringServer(t, (body, _request, response) => {
    const { messages = [] } = body as Partial<Asked>;
    if (messages.some(({ content }) => content?.includes('toys') === true)) {
      asked.push({ messages });
    }
    const given = messages.findLast(({ role }) => role === 'tool')?.content;
    const content = given === undefined ? guess : `They are ${given ?? ''} toys.`;
    const choices = [{ message: { role: 'assistant', content }, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ model: 'm', choices }));
  });
  return { url, asked };
}

interface Place {
  readonly service: EngineService;
  readonly asked: Asked[];
  /** Writes a team file from what is inferred of a message; the user's change is made to its text. */
  readonly team: (message: number, change?: (text: string) => string) => string;
}

async function imported(
  t: TestContext,
  guess = 'sum [7,12]',
  ...logs: readonly [object, ...object[]] | readonly []
): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-inferred-'));
  const service = new EngineService(join(folder, 'c3.sqlite'));
  t.after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { url, asked } = await serverOf(t, guess);
  const lines = (logs.length === 0 ? [CONVERSATION] : logs).map((one) => JSON.stringify(one));
  writeFileSync(join(folder, 'log.jsonl'), lines.join('\n'));
  const report = await service.importLog({ path: join(folder, 'log.jsonl'), maskSecrets: false }, CONTROL.signal);
  assert.deepEqual(
    report.speakers.map(({ name }) => name),
    ['planner', 'writer'],
  );
  const team = (message: number, change = (text: string): string => text): string => {
    const path = join(folder, `team ${message}.yaml`);
    const text = service.reading((store) => writeInferredTeam(store, message, { endpoint: url, model: 'm' }));
    writeFileSync(
      path,
      change(text.replace("# answer: '19'\nevaluator: exact", "answer: '19 toys'\nevaluator: pattern")),
    );
    return path;
  };
  return { service, asked, team };
}
const returnsOf = ({ alternatives }: ReplayResult): unknown =>
  alternatives.map(({ text, returns }) => ({ text, returns }));

describe('a recorded episode without a driver', () => {
  it('is forked by the protocol that its log shows, with calls and results as a server takes them', async (t) => {
    const { service, asked, team } = await imported(t);
    const request = { message: 2, alternatives: 1, replays: 1, text: 'They are 5.' };
    const bucket = await service.replay({ ...request, team: team(2) }, CONTROL);
    assert.deepEqual(returnsOf(bucket), [
      { text: 'They are 19 toys.', returns: [1] },
      { text: 'They are 19 toys.', returns: [1] },
      { text: 'They are 5.', returns: [0] },
    ]);
    assert.deepEqual(asked.at(-1)?.messages, [
      { role: 'user', content: QUESTION },
      {
        role: 'assistant',
        content: null,
        name: 'planner',
        tool_calls: [{ id: 'call_1_0', type: 'function', function: { name: 'sum', arguments: '[12,7]' } }],
      },
      { role: 'tool', tool_call_id: 'call_1_0', content: '19' },
    ]);
  });

  it('is forked at its last message as often as somebody asks, with the same return for what was recorded', async (t) => {
    const { service, team } = await imported(t);
    const request = { message: 2, alternatives: 0, replays: 1, text: 'They are 5.', team: team(2) };
    const first = returnsOf(await service.replay(request, CONTROL));
    assert.deepEqual(first, [
      { text: 'They are 19 toys.', returns: [1] },
      { text: 'They are 5.', returns: [0] },
    ]);
    assert.deepEqual(returnsOf(await service.replay(request, CONTROL)), first);
  });

  it('is searched for the message that lost it, by what its servers cost at most, which is said first', async (t) => {
    const { service, asked, team } = await imported(t, 'sum [7,12]', LOST);
    const remarks: string[] = [];
    const control = { ...CONTROL, onRemark: (remark: string) => void remarks.push(remark) };
    await assert.rejects(
      service.blame({ message: 2, budget: 24 }, control),
      /recorded elsewhere: .* Give --team FILE/u,
    );
    assert.deepEqual([asked, remarks], [[], []]);
    const found = await service.blame({ message: 2, budget: 64, team: team(1, withResult) }, control);
    // Whatever the planner says, the writer of the server repeats what the tool gave; the recorded one did not.
    assert.deepEqual([found.verdict, found.message], ['message', 2]);
    assert.match(found.sentence, /^The writer lost it: the chance of success fell from 100 % /u);
    assert.match(found.remedy?.text ?? '', /^They are 19 toys\.$/u);
    assert.ok(found.evaluatorCalls <= 64);
    assert.deepEqual(
      remarks.map((one) => /^At most \d+ requests to the endpoint of the role (\w+)/u.exec(one)?.[1]),
      ['planner', 'writer'],
    );
    const { run, problem } = service.reading((store) => store.message(2));
    assert.deepEqual(
      (await service.lostProblems(run)).map((one) => [one.problem, one.verdict, one.role]),
      [[problem, 'message', 'writer']],
    );
  });

  it('is searched with no more requests than were said', async (t) => {
    const { service, asked, team } = await imported(t, 'sum [7,12]', LOST);
    let said = 0;
    const onRemark = (remark: string): void => {
      said += Number(/^At most (\d+) requests/u.exec(remark)?.[1] ?? NaN);
    };
    const wrong = team(1, (text) => withResult(text).replace("text: '19'", "text: '5'"));
    const found = await service.blame({ message: 2, budget: 16, team: wrong }, { ...CONTROL, onRemark });
    assert.deepEqual([found.verdict, found.evaluatorCalls], ['undecided', 16]);
    assert.ok(asked.length > 0 && asked.length <= said, `${asked.length} of ${said}`);
  });

  it('is searched with all that were lost in its recording; one that the steps do not fit is counted', async (t) => {
    const [question, ...rest] = LOST.messages;
    const other = {
      messages: [
        { role: 'user', content: 'How many toys are 19 and 0?' },
        { role: 'assistant', name: 'planner', content: 'Toys, I see.' },
        { role: 'assistant', name: 'planner', content: 'So 1.' },
        { role: 'assistant', name: 'writer', content: 'So 2.' },
      ],
      reward: 0,
    };
    const won = { messages: [{ ...question, content: 'How many toys are 12 and 8?' }, ...rest], reward: 1 };
    const { service, asked, team } = await imported(t, 'sum [7,12]', LOST, other, won);
    const run = service.reading((store) => store.messageRun(1));
    const remarks: string[] = [];
    const control = { ...CONTROL, onRemark: (remark: string) => void remarks.push(remark) };
    const request = { run, budget: 200, team: team(1, withResult) };
    await assert.rejects(service.blameRun({ run, budget: 64 }, control), /^C3Error: Run .* was recorded elsewhere: /u);
    await assert.rejects(
      service.blameRun({ ...request, spending: { tokens: 10 } }, control),
      /The spending limit of 10 tokens is too low/u,
    );
    assert.equal(asked.length, 0);
    remarks.length = 0;
    const found = await service.blameRun(request, control);
    assert.deepEqual([found.lost, found.read, found.masked, found.decided], [2, 1, 1, 1]);
    assert.ok(found.evaluatorCalls > 0 && found.evaluatorCalls <= 200);
    assert.deepEqual(
      found.cases.map(({ message, role }) => [message, role]),
      [[2, 'writer']],
    );
    const [first, second, left] = remarks;
    const said = [first, second].map((one) => Number(/^At most (\d+) requests/u.exec(one ?? '')?.[1] ?? NaN));
    assert.ok(asked.length <= said.reduce((sum, one) => sum + one, 0), `${asked.length} of ${String(said)}`);
    assert.match(left ?? '', /^An episode is left out: /u);
    const none = { ...request, only: [{ key: 'episode', value: '3' }] } as const;
    await assert.rejects(service.blameRun(none, CONTROL), /The steps of .* do not go on|cannot be replayed/u);
    const one = await service.blameRun({ ...request, only: [{ key: 'episode', value: '1' }] }, CONTROL);
    assert.deepEqual([one.lost, one.read, one.masked], [1, 1, 0]);
    assert.match(one.sentence, /^Of 1 lost episode \(episode 1\) /u);
  });

  it('is blocked by what has no known source before anybody is asked, until the user gives it', async (t) => {
    const { service, asked, team } = await imported(t);
    const request = { message: 1, alternatives: 1, replays: 1, text: null };
    await assert.rejects(service.replay({ ...request, team: team(1) }, CONTROL), {
      kind: 'engine',
      message: /what sum gives in step 2 has no known source; .*Nothing was invented\.$/u,
    });
    assert.deepEqual(asked, []);
    const known = team(1, (text) => text.replace('- event: sum', "- event: sum\n    text: '19'"));
    const bucket = await service.replay({ ...request, team: known }, CONTROL);
    assert.deepEqual(returnsOf(bucket), [
      { text: 'sum [12,7]', returns: [1] },
      { text: 'sum [7,12]', returns: [1] },
    ]);
  });

  it('is blocked where another message does not call the tool whose result is known', async (t) => {
    const { service, team } = await imported(t, 'Some toys.');
    const known = team(1, (text) => text.replace('- event: sum', "- event: sum\n    text: '19'"));
    await assert.rejects(
      service.replay({ message: 1, alternatives: 1, replays: 1, text: null, team: known }, CONTROL),
      { kind: 'engine', message: /what sum gave is sent to a model without the call that it answers; name a driver/u },
    );
  });

  it('is forked by another result of its tool, which is another alternative than the message itself', async (t) => {
    const { service, asked, team } = await imported(t);
    const request = { message: 1, alternatives: 0, replays: 2, text: null, result: '20', team: team(1) };
    const bucket = await service.replay(request, CONTROL);
    assert.deepEqual(returnsOf(bucket), [
      { text: 'sum [12,7]', returns: [1, 1] },
      { text: 'sum [12,7]', returns: [0, 0] },
    ]);
    assert.deepEqual(asked.map(({ messages }) => messages.at(-1)?.content).toSorted(), ['19', '19', '20', '20']);
    const results = bucket.alternatives.map(({ message }) =>
      service.reading((store) =>
        store
          .children(message)
          .flatMap(({ id }) => store.environmentEvents(id, 'before').map(({ event }) => event.text)),
      ),
    );
    assert.deepEqual(results, [
      ['19', '19', '19'],
      ['20', '20'],
    ]);
    assert.deepEqual(
      bucket.alternatives.map(({ bucketCredit }) => bucketCredit?.value),
      [1, -1],
    );
    // What another result is worth is no part of what the message is worth with its own.
    assert.deepEqual(
      bucket.alternatives.map(({ message }) => service.reading((store) => store.message(message).credit?.n)),
      [2, 2],
    );
    await assert.rejects(service.replay({ ...request, message: 2 }, CONTROL), {
      kind: 'input',
      message: /No result of a tool follows message 2/u,
    });
  });

  it('is refused where the steps do not fit what was recorded', async (t) => {
    const { service, asked, team } = await imported(t);
    const request = { message: 2, alternatives: 1, replays: 1, text: null };
    const other = team(2, (text) => text.replace('role: planner', 'role: writer'));
    await assert.rejects(service.replay({ ...request, team: other }, CONTROL), {
      message: /step 1 is writer, where planner was recorded/u,
    });
    const early = team(2, (text) => text.replace('of: 1', 'of: 3'));
    await assert.rejects(service.replay({ ...request, team: early }, CONTROL), {
      kind: 'input',
      message: /line \d+: steps\[2\].*refer to earlier steps/u,
    });
    assert.deepEqual(asked, []);
  });
});

/** An assistant whose user is asked: what was asked, and what is answered. */
async function assistantFor(
  t: TestContext,
  service: EngineService,
  first: 'accept' | 'decline',
): Promise<{ client: Client; agreed: string[]; user: { action: 'accept' | 'decline' } }> {
  const agreed: string[] = [];
  const user = { action: first };
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    agreed.push(params.message);
    return { action: user.action, content: {} };
  });
  await connected(t, service, client);
  return { client, agreed, user };
}

/** The JSON in the first text of a tool's result. */
function answerIn(result: string): unknown {
  const { content } = z.object({ content: z.array(z.object({ text: z.string() })) }).parse(JSON.parse(result));
  return JSON.parse(content[0]?.text ?? '');
}

async function connected(t: TestContext, service: EngineService, client: Client): Promise<void> {
  const [here, there] = InMemoryTransport.createLinkedPair();
  await createMcpServer(service).connect(there);
  await client.connect(here);
  t.after(() => client.close());
}

describe('an assistant', () => {
  it('has a recorded episode searched where the user agrees to the team file and its cost', async (t) => {
    const { service, asked, team } = await imported(t, 'sum [7,12]', LOST);
    const { client, agreed, user } = await assistantFor(t, service, 'decline');
    const search = async (more: object): Promise<string> =>
      JSON.stringify(
        await client.callTool({
          name: 'message_that_lost',
          arguments: { message: 1, max_evaluator_calls: 64, ...more },
        }),
      );
    assert.match(await search({}), /recorded elsewhere: .* Give --team FILE/u);
    assert.match(await search({ team: '../outside.yaml' }), /team must be a file in the folder of this store/u);
    const path = team(1, withResult);
    // The assistant's own word is not the user's.
    assert.match(await search({ team: path, confirm: true }), /The user did not agree \(decline\)/u);
    assert.equal(asked.length, 0);
    user.action = 'accept';
    const answer = answerIn(await search({ team: path }));
    const found = z.looseObject({ verdict: z.string(), message: z.int(), link: z.string() }).parse(answer);
    assert.deepEqual([found.verdict, found.message], ['message', 2]);
    assert.match(found.link, /^vscode:/u);
    assert.match(
      agreed.at(-1) ?? '',
      /lost the episode of message 1 goes on by the steps of ".*", and costs at most 64 evaluator calls \(At most \d+ requests to the endpoint/u,
    );
    // A file that changed after it was shown is refused: its bytes were agreed to.
    const { request } = await prepareSearch(
      { asked: { message: 1, team: path, max_evaluator_calls: 64 }, folder: dirname(path) },
      (one) => service.blameCosts(one),
    );
    team(1, (text) => `${withResult(text)}\n# other\n`);
    await assert.rejects(service.blame(request, CONTROL), /was changed after the user was asked/u);
  });

  it('has all that a recording lost searched where the user agrees to the team file and its cost', async (t) => {
    const { service, asked, team } = await imported(t, 'sum [7,12]', LOST);
    const run = service.reading((store) => store.messageRun(1));
    const { client, agreed, user } = await assistantFor(t, service, 'decline');
    const mute = new Client({ name: 'test', version: '1' });
    await connected(t, service, mute);
    const search = async (more: object, from = client): Promise<string> =>
      JSON.stringify(
        await from.callTool({ name: 'what_loses_episodes', arguments: { run, max_evaluator_calls: 64, ...more } }),
      );
    assert.match(await search({}), /recorded elsewhere: .* Give --team FILE/u);
    assert.match(await search({ team: '../outside.yaml' }), /team must be a file in the folder of this store/u);
    const path = team(1, withResult);
    // Neither the assistant's own word nor that of a client that cannot ask is the user's.
    assert.match(await search({ team: path, confirm: true }), /The user did not agree \(decline\)/u);
    assert.match(
      await search({ team: path, confirm: true }, mute),
      /this client cannot ask .* Use c3 blame --run RUN --team FILE\./u,
    );
    assert.equal(asked.length, 0);
    user.action = 'accept';
    const answer = answerIn(await search({ team: path }));
    const found = z
      .looseObject({
        lost: z.int(),
        decided: z.int(),
        cases: z.array(z.looseObject({ message: z.int(), link: z.string() })),
      })
      .parse(answer);
    assert.deepEqual([found.lost, found.decided, found.cases.map(({ message }) => message)], [1, 1, [2]]);
    assert.match(found.cases[0]?.link ?? '', /^vscode:/u);
    assert.match(
      agreed.at(-1) ?? '',
      /loses the episodes of run ".*" goes on by the steps of ".*", and costs at most 64 evaluator calls \(At most \d+ requests to the endpoint/u,
    );
    // A file that changed after it was shown is refused: its bytes were agreed to.
    const { request } = await prepareRunSearch(
      { asked: { run, team: path, max_evaluator_calls: 64 }, folder: dirname(path) },
      (one) => service.runBlameCosts(one),
    );
    team(1, (text) => `${withResult(text)}\n# other\n`);
    await assert.rejects(service.blameRun(request, CONTROL), /was changed after the user was asked/u);
  });

  it('has another result of a tool tried where the user agrees, with the team file named', async (t) => {
    const { service, team } = await imported(t);
    const { client, agreed } = await assistantFor(t, service, 'accept');
    const asked = { message: 1, alternatives: 0, replays: 2, result: '20', max_evaluator_calls: 4 };
    const path = team(1);
    const refused = await client.callTool({
      name: 'replay_message',
      arguments: { ...asked, alternatives: 1, team: path },
    });
    assert.match(JSON.stringify(refused), /at most 6 evaluator calls.*more than the 4 allowed/u);
    assert.deepEqual(agreed, []);
    const answer = await client.callTool({ name: 'replay_message', arguments: { ...asked, team: path } });
    assert.notEqual(answer['isError'], true, JSON.stringify(answer));
    assert.match(
      agreed.join(),
      /the tool result "20" and 2 continuations goes on by the steps of ".*", and costs at most 4/u,
    );
    const [bucket] = service.reading((store) => store.bucketsFor(1));
    assert.deepEqual(
      bucket?.alternatives.map(({ returns }) => returns),
      [
        [1, 1],
        [0, 0],
      ],
    );
  });
});
