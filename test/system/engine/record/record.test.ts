/** `c3 record`: a program of the user's, a model server that it asks, and what is stored of both. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Recorded } from '../../../../src/domain/episode.ts';
import { readRunProtocol } from '../../../../src/engine/recipe/recipe.ts';
import { record, type RecordSettings } from '../../../../src/engine/record/recordProgram.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { startAnsweringServer } from '../../../support/answeringServer.ts';

/** What the server of the test answers a body with: status, type and pieces. */
type Answer = (body: Readonly<Record<string, unknown>>) => {
  readonly status?: number;
  readonly stream?: boolean;
  readonly pieces: readonly string[];
};
interface Upstream {
  readonly url: string;
  readonly asked: { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
}

const KEY = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
const whole = (text: string): string =>
  JSON.stringify({ model: 'm-1', choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }] });

async function upstreamOf(t: TestContext, answer: Answer): Promise<Upstream> {
  const asked: Upstream['asked'] = [];
  const url = await startAnsweringServer(t, (body, request, response) => {
    asked.push({ path: request.url ?? '', headers: request.headers });
    const { status = 200, stream = false, pieces: said } = answer(body);
    response.writeHead(status, { 'content-type': stream ? 'text/event-stream' : 'application/json', 'x-own': 'yes' });
    for (const piece of said) {
      response.write(piece);
    }
    response.end();
  });
  return { url, asked };
}

/** Calls that the programs of the tests make. */
const PRELUDE = `
const post = (path, body, headers = {}) => fetch(process.env.OPENAI_BASE_URL + path, {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ${KEY}', ...headers },
  body: JSON.stringify(body),
});
const say = (role, ...messages) => post('/chat/completions', { model: 'm', messages }, role === null ? {} : { 'x-c3-role': role });
const user = (content) => ({ role: 'user', content });
const check = (holds) => { if (!holds) process.exit(7); };
`;

async function recorded(
  t: TestContext,
  program: string,
  upstream: string,
  settings: Partial<RecordSettings> = {},
): Promise<Recorded & { readonly service: EngineService; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-recorded-'));
  const service = new EngineService(join(folder, 'c3.sqlite'));
  t.after(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const command = [process.execPath, '--input-type=module', '-e', PRELUDE + program] as const;
  const given = { command, folder, maskSecrets: false, right: null, upstream, served: null, quiet: true, ...settings };
  return { ...(await record(service, given, new AbortController().signal)), service, folder };
}

/** Who said what after which context, by message in the order in which they were stored: the store has no others. */
const messagesIn = (service: EngineService, count: number): unknown =>
  service.reading((store) =>
    Array.from({ length: count }, (_, index) => store.fullMessage(index + 1)).map(
      ({ id, role, turn, parent, text, context }) => ({
        by: `${role} ${turn}`,
        continues: parent !== null,
        text,
        context,
        before: store.environmentEvents(id, 'before').map(({ event }) => `${event.source}: ${event.text}`),
      }),
    ),
  );

describe('a recorded program', () => {
  it('is stored with who spoke, what each saw, and what its tools gave', async (t) => {
    const call = { id: 'a', type: 'function', function: { name: 'sum', arguments: '[12,7]' } };
    const answers = [
      JSON.stringify({
        model: 'm-1',
        choices: [{ message: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }],
      }),
      whole('It is 19.'),
      whole('#### 19'),
    ];
    const upstream = await upstreamOf(t, () => ({ pieces: [answers.shift() ?? ''] }));
    const { report, ended, service } = await recorded(
      t,
      `
      const call = { id: 'a', type: 'function', function: { name: 'sum', arguments: '[12,7]' } };
      const asked = await say('planner', user('12+7?'));
      check(asked.headers.get('x-own') === 'yes');
      check((await asked.json()).choices[0].message.tool_calls[0].id === 'a');
      const after = [user('12+7?'), { role: 'assistant', content: null, tool_calls: [call] }, { role: 'tool', tool_call_id: 'a', content: '19' }];
      await (await say('planner', ...after)).text();
      await (await say('writer', user('Write: It is 19.'))).text();
      const scored = await fetch(process.env.C3_RECORD_SCORE, { method: 'POST', body: JSON.stringify({ return: 1 }) });
      check(scored.status === 200);
      `,
      upstream.url,
    );
    assert.equal(ended, 0);
    const { run, ...rest } = report;
    assert.deepEqual(rest, {
      known: false,
      format: 'the calls of a program',
      episodes: 1,
      messages: 3,
      events: 1,
      scored: 1,
      speakers: [
        { name: 'planner', by: 'name', messages: 2 },
        { name: 'writer', by: 'name', messages: 1 },
      ],
      leftOut: {},
      masked: null,
    });
    assert.deepEqual(messagesIn(service, 3), [
      { by: 'planner 0', continues: false, text: 'sum [12,7]', context: '### user\n12+7?', before: [] },
      {
        by: 'planner 1',
        continues: true,
        text: 'It is 19.',
        context: '### user\n12+7?\n\n### assistant\nsum [12,7]\n\n### tool sum\n19',
        before: ['sum: 19'],
      },
      { by: 'writer 0', continues: true, text: '#### 19', context: '### user\nWrite: It is 19.', before: [] },
    ]);
    assert.deepEqual(
      service.reading((store) => readRunProtocol(store, run).roles.map(({ name }) => name)),
      ['planner', 'writer'],
    );
    // The server hears the program's own key, and nothing of ours.
    const [first] = upstream.asked;
    assert.equal(first?.path, '/v1/chat/completions');
    assert.equal(first.headers.authorization, `Bearer ${KEY}`);
    assert.equal(first.headers['x-c3-role'], undefined);
  });

  it('scores episodes of the first question by what is right, where the program does not', async (t) => {
    const upstream = await upstreamOf(t, (body) => ({
      pieces: [
        JSON.stringify(body).includes('think')
          ? JSON.stringify({
              choices: [{ message: { content: '#### 3', reasoning_content: '#### 19' }, finish_reason: 'stop' }],
            })
          : whole(JSON.stringify(body).includes('12+7') ? 'So: #### 19' : 'So: #### 3'),
      ],
    }));
    const { report, service } = await recorded(
      t,
      `
      const ask = (episode, content) => post('/chat/completions', { model: 'm', messages: [user(content)] }, { 'x-c3-episode': episode });
      await (await ask('right', '12+7?')).text();
      await (await ask('other', '1+1?')).text();
      await (await ask('own', '12+7?')).text();
      const thinking = { model: 'm', messages: [user('12+7?')], metadata: 'think' };
      await (await post('/chat/completions', thinking, { 'x-c3-episode': 'thought' })).text();
      await fetch(process.env.C3_RECORD_SCORE, { method: 'POST', body: JSON.stringify({ return: 0.25, episode: 'own' }) });
      `,
      upstream.url,
      { right: { answer: '19', evaluator: 'auto' } },
    );
    assert.equal(report.scored, 3);
    assert.deepEqual(report.leftOut, {
      'scores of episodes with another question than the first, whose answer is not known': 1,
    });
    const returns = service.reading((store) => [1, 2, 3, 4].map((id) => store.message(id).return));
    // What is only thought is no answer.
    assert.deepEqual(returns, [1, null, 0.25, 0]);
  });

  it('gets a stream piece by piece, and another path as it is', async (t) => {
    const events = ['I ', 'see.'].map((content) => ({ choices: [{ delta: { content }, finish_reason: null }] }));
    const last = { model: 'm-1', choices: [{ delta: {}, finish_reason: 'stop' }] };
    const pieces = [...[...events, last].map((body) => `data: ${JSON.stringify(body)}\n\n`), 'data: [DONE]\n\n'];
    const upstream = await upstreamOf(t, (body) => ('input' in body ? { pieces: ['[1]'] } : { stream: true, pieces }));
    const { report, ended, service } = await recorded(
      t,
      `
      check(await (await post('/embeddings?x=1', { input: 'a' })).text() === '[1]');
      const response = await say(null, { role: 'system', content: 'Look.' }, user('?'));
      check(await response.text() === ${JSON.stringify(pieces.join(''))});
      check(response.headers.get('content-type') === 'text/event-stream');
      `,
      upstream.url,
    );
    assert.equal(ended, 0);
    assert.deepEqual(
      upstream.asked.map(({ path }) => path),
      ['/v1/embeddings?x=1', '/v1/chat/completions'],
    );
    assert.deepEqual(report.speakers, [{ name: 'agent 1', by: 'system prompt', messages: 1 }]);
    const context = '### system\nLook.\n\n### user\n?';
    assert.deepEqual(messagesIn(service, 1), [
      { by: 'agent 1 0', continues: false, text: 'I see.', context, before: [] },
    ]);
  });

  it('goes on to be recorded where its server breaks off, with each call that is lost counted', async (t) => {
    let before = 0;
    const url = await startAnsweringServer(t, (_, request, response) => {
      if (before++ === 0) {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .write('data: {"choices"', () => request.socket.resetAndDestroy());
      } else {
        response.setHeader('content-type', 'application/json').end(whole('Yes.'));
      }
    });
    const { report, ended } = await recorded(
      t,
      `
      const cut = await say(null, user('?'));
      check(await cut.text().then(() => false, () => true));
      await (await post('/embeddings', {})).text();
      check((await (await say(null, user('?'))).json()).choices[0].message.content === 'Yes.');
      `,
      url,
    );
    assert.equal(ended, 0);
    assert.deepEqual(
      [report.messages, report.leftOut],
      [1, { 'calls whose answer was cut off': 1, 'calls of /v1/embeddings, which are not recorded': 1 }],
    );
  });

  it('sees refusals as they are, and what it said before stays when it fails', async (t) => {
    const upstream = await upstreamOf(t, ({ model }) =>
      model === 'm' ? { pieces: [whole('Yes.')] } : { status: 429, pieces: ['{"error":"later"}'] },
    );
    const { report, ended, service } = await recorded(
      t,
      `
      await (await say('one', user('?'))).text();
      const refused = await post('/chat/completions', { model: 'other', messages: [user('?')] });
      check(refused.status === 429 && await refused.text() === '{"error":"later"}');
      process.exit(3);
      `,
      upstream.url,
    );
    assert.equal(ended, 3);
    assert.deepEqual([report.messages, report.leftOut], [1, { 'calls that the server refused (429)': 1 }]);
    assert.equal(
      service.reading((store) => store.run(report.run).status),
      'done',
    );
  });

  it('has an episode for each name, and no key in any file', async (t) => {
    const upstream = await upstreamOf(t, () => ({ pieces: [whole(`My key is ${KEY}.`)] }));
    const { report, service, folder } = await recorded(
      t,
      `
      for (const name of ['first', 'second']) {
        await (await post('/chat/completions', { model: 'm', messages: [user(name)] }, { 'x-c3-episode': name })).text();
      }
      `,
      upstream.url,
      { maskSecrets: true },
    );
    assert.deepEqual([report.episodes, report.messages, report.masked], [2, 2, 2]);
    assert.deepEqual(
      service.reading((store) => store.messages([1, 2]).map(({ parent }) => parent)),
      [null, null],
    );
    await service.close();
    for (const file of readdirSync(folder)) {
      assert.ok(!readFileSync(join(folder, file), 'latin1').includes(KEY.slice(8)), file);
    }
  });

  it('is stored by its spans where no call passed by', async (t) => {
    const upstream = await upstreamOf(t, () => ({ pieces: [] }));
    const attributes = Object.entries({
      'gen_ai.operation.name': 'chat',
      'gen_ai.agent.name': 'planner',
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: '?' }] }]),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: 'Yes.' }] }]),
    }).map(([key, stringValue]) => ({ key, value: { stringValue } }));
    const span = { traceId: 'a1', spanId: 'b1', name: 'chat', startTimeUnixNano: '1', attributes };
    const { report } = await recorded(
      t,
      `
      const send = (body, type) => fetch(process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/traces', { method: 'POST', headers: { 'content-type': type }, body });
      const sent = await send(${JSON.stringify(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }))}, 'application/json');
      check(sent.status === 200);
      check((await send('{"resourceSpans": [', 'application/json')).status === 400);
      check((await send('x', 'application/x-protobuf')).status === 400);
      check((await send('x', 'text/plain')).status === 415);
      `,
      upstream.url,
    );
    assert.deepEqual(report.speakers, [{ name: 'planner', by: 'name', messages: 1 }]);
    assert.deepEqual(report.leftOut, {
      'batches of spans that are not OTLP JSON': 1,
      'batches of spans that are not OTLP protocol buffers': 1,
      'batches of spans that are neither JSON nor protocol buffers: use OTLP over HTTP': 1,
    });
  });

  it('is refused with a sentence where it cannot be started, and leaves nothing', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-recorded-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const service = new EngineService(join(folder, 'c3.sqlite'));
    const command = ['no-such-program-of-ours'] as const;
    const settings = {
      command,
      folder,
      maskSecrets: false,
      right: null,
      upstream: 'http://127.0.0.1:9/v1',
      served: null,
      quiet: true,
    };
    await assert.rejects(record(service, settings, new AbortController().signal), {
      message: /no-such-program-of-ours cannot be started .*; give a program and its arguments after --\./u,
    });
    await service.close();
    assert.deepEqual(readdirSync(folder), []);
  });

  it('answers no web page, no other host, and nobody without the address', async (t) => {
    const upstream = await upstreamOf(t, () => ({ pieces: [whole('No.')] }));
    const { ended, report } = await recorded(
      t,
      `
      check((await post('/chat/completions', {}, { origin: 'http://evil.example' })).status === 403);
      const { origin } = new URL(process.env.OPENAI_BASE_URL);
      check((await fetch(origin + '/v1/chat/completions', { method: 'POST', body: '{}' })).status === 404);
      `,
      upstream.url,
    );
    assert.deepEqual([ended, upstream.asked.length, report.episodes], [0, 0, 0]);
  });
});
