/** What a program that `c3 record` runs hears of a request that is not passed on, and what such requests may cost. */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { PassingServer, type PassingPlaces } from '../../../../src/engine/record/passingServer.ts';
import { startAnsweringServer } from '../../../support/answeringServer.ts';
import { connected, headOf, heard, readAnswer, writeForever, writeThenRead } from '../http/rawClient.ts';

const MEGABYTE = Buffer.alloc(2 ** 20, 'a');
const MEGABYTE_CHUNK = Buffer.concat([Buffer.from('100000\r\n'), MEGABYTE, Buffer.from('\r\n')]);
/** Megabytes of a request that is passed on, at most. */
const MOST = 64;
const sent = (megabytes: number): string => `Content-Length: ${megabytes * 2 ** 20}`;

/** A server that nothing may pass. */
async function passing(
  t: TestContext,
): Promise<{
  readonly server: PassingServer;
  readonly places: PassingPlaces;
  readonly port: number;
  readonly leftOut: readonly string[];
}> {
  const fail = (): never => assert.fail('Nothing is recorded.');
  const leftOut: string[] = [];
  const recording = { take: fail, leaveOut: (reason: string) => leftOut.push(reason), score: fail };
  const servers = { upstream: 'http://127.0.0.1:9/v1', model: null, anthropic: null, azure: null };
  const server = new PassingServer(recording, servers, fail);
  const places = await server.listen();
  let closed = false;
  const close = server.close.bind(server);
  server.close = async () => {
    if (!closed) {
      closed = true;
      await close();
    }
  };
  t.after(() => server.close());
  return { server, places, leftOut, port: Number(new URL(places.api).port) };
}

it('each refusal reaches a client that writes 9 MiB before it reads', async (t) => {
  const { places, port } = await passing(t);
  const host = `Host: 127.0.0.1:${port}`;
  const { pathname } = new URL(`${places.api}/chat/completions`);
  const cases: readonly (readonly [number, RegExp, string, ...string[]])[] = [
    [403, /no web pages/u, `POST ${pathname}`, 'Host: rebound.example'],
    [403, /no web pages/u, `POST ${pathname}`],
    [403, /no web pages/u, `POST ${pathname}`, host, 'Origin: http://evil.example'],
    [404, /addresses that c3 record gave/u, 'POST /v1/chat/completions', host],
    [417, /"type":"c3_record"/u, `POST ${pathname}`, host, 'Expect: more'],
    [400, /"type":"c3_record"/u, `POST ${pathname}`, host, 'Content-Length: 1'],
  ];
  for (const [status, words, line, ...headers] of cases) {
    const pieces = [headOf(line, ...headers, sent(9)), ...Array<Buffer>(9).fill(MEGABYTE)];
    const answer = await writeThenRead(port, pieces);
    assert.equal(answer.status, status, `${line}: ${answer.body}`);
    assert.match(answer.body, words);
  }
});

it('a request that is too long is refused to a client that writes all of it, with and without its length', async (t) => {
  const { places, port, leftOut } = await passing(t);
  const line = `POST ${new URL(`${places.api}/chat/completions`).pathname}`;
  const host = `Host: 127.0.0.1:${port}`;
  for (const pieces of [
    [headOf(line, host, sent(MOST + 1)), ...Array<Buffer>(MOST + 1).fill(MEGABYTE)],
    [headOf(line, host, 'Transfer-Encoding: chunked'), ...Array<Buffer>(MOST + 1).fill(MEGABYTE_CHUNK), '0\r\n\r\n'],
  ]) {
    const { status, body } = await writeThenRead(port, pieces);
    assert.equal(status, 413);
    assert.match(body, /more than 67108864 bytes/u);
  }
  assert.deepEqual(leftOut, Array(2).fill('calls whose request has more than 67108864 bytes, which were refused'));
});

it('a client that never ends is let go, and has read why', async (t) => {
  const { port } = await passing(t);
  const head = headOf('POST /', `Host: 127.0.0.1:${port}`, 'Transfer-Encoding: chunked');
  assert.match(await writeForever(port, head, MEGABYTE_CHUNK), /^HTTP\/1\.1 404 /u);
});

it('its end waits for no body, and for no client that was refused', async (t) => {
  const { server, places, port } = await passing(t);
  const host = `Host: 127.0.0.1:${port}`;
  const line = `POST ${new URL(places.score).pathname}`;
  const [sending, refused] = [await connected(port), await connected(port)];
  refused.on('error', () => undefined).write(headOf('POST /', host, 'Content-Length: 10'));
  assert.equal(readAnswer(await heard(refused)).status, 404);
  sending.on('error', () => undefined).write(headOf(line, host, 'Content-Length: 10', 'Expect: 100-continue'));
  assert.match(await heard(sending, '\r\n\r\n'), / 100 Continue/u);
  await server.close();
  sending.destroy();
  refused.destroy();
});

it('calls of OpenAI, Anthropic and Azure go on to the server of each, and are recorded on every path for agents', async (t) => {
  const asked: string[] = [];
  const url = (
    await startAnsweringServer(t, (_body, request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    })
  ).replace(/\/v1$/u, '');
  const [taken, leftOut] = [[] as string[], [] as string[]];
  const recording = {
    take: ({ api }: { readonly api: string }) => {
      taken.push(api);
      return Promise.resolve();
    },
    leaveOut: (reason: string) => {
      leftOut.push(reason);
    },
    score: () => false,
  };
  const open = async (isNamed: boolean): Promise<PassingPlaces> => {
    const anthropic = { address: `${url}/a`, isNamed };
    const servers = { upstream: `${url}/o/`, model: null, anthropic, azure: `${url}/z/` };
    const server = new PassingServer(recording, servers, () => undefined);
    t.after(() => server.close());
    return server.listen();
  };
  const post = async (address: string): Promise<void> => {
    await (await fetch(address, { method: 'POST', body: '{}' })).text();
  };
  const { api, anthropic, azure } = await open(false);
  const deployment = '/deployments/mine/chat/completions?api-version=1';
  const cases: readonly (readonly [asked: string, path: string, api: string])[] = [
    [`${api}/chat/completions/`, '/o/chat/completions/', 'chat'],
    [`${api}/responses`, '/o/responses', 'responses'],
    [`${api}/messages`, '/o/messages', 'messages'],
    [`${api}${deployment}`, `/z/openai${deployment}`, 'chat'],
    [`${azure ?? ''}/openai${deployment}`, `/z/openai${deployment}`, 'chat'],
    [
      `${azure ?? ''}/openai/v1/responses/?api-version=preview`,
      '/z/openai/v1/responses/?api-version=preview',
      'responses',
    ],
    [`${anthropic ?? ''}/v1/messages?beta=true`, '/a/v1/messages?beta=true', 'messages'],
    // A client that counts /v1 to its address.
    [`${anthropic ?? ''}/messages/`, '/a/v1/messages/', 'messages'],
    [`${(await open(true)).anthropic ?? ''}/messages`, '/a/messages', 'messages'],
  ];
  for (const [address, path, form] of cases) {
    await post(address);
    assert.deepEqual([asked.at(-1), taken.at(-1)], [path, form]);
  }
  assert.deepEqual([taken.length, leftOut], [cases.length, []]);
  await post(`${anthropic ?? ''}/v1/messages/count_tokens`);
  await post(`${azure ?? ''}/openai/deployments/mine/embeddings`);
  await post(`${api}/threads/1/messages`);
  // Below none of the addresses: it goes on to no server.
  await post(api.replace(/\/v1$/u, '/elsewhere'));
  assert.deepEqual([taken.length, asked.length], [cases.length, cases.length + 3]);
  assert.deepEqual(leftOut, [
    'calls of /v1/messages/count_tokens, which are not recorded',
    'calls of /openai/deployments/mine/embeddings, which are not recorded',
    'calls of /v1/threads/1/messages, which are not recorded',
    'calls of /elsewhere, which are not recorded',
  ]);
});
