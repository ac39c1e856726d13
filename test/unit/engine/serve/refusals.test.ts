/** Refusals of `c3 serve` as clients meet them that are still writing, and its end while they do. */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { ServedModel } from '../../../../src/engine/serve/answering.ts';
import { ModelServer } from '../../../../src/engine/serve/modelServer.ts';
import { connected, headOf, heard, readAnswer, writeThenRead } from '../http/rawClient.ts';

const TOKEN = 'the-token-of-the-test';
const BODY = Buffer.alloc(9 * 2 ** 20, 'a');
const LENGTH = `Content-Length: ${BODY.length}`;
const PATH = '/v1/completions';
const JSON_TYPE = 'Content-Type: application/json';
/** How often a client that writes as fast as it can must be answered; fetch takes longer. */
const TIMES = 50;
const FETCHES = 10;

/** A server of a model that nothing is asked of. */
async function served(t: TestContext): Promise<{ readonly server: ModelServer; readonly port: number }> {
  const model = { name: 'm' } as ServedModel;
  const server = new ModelServer(model, { port: 0, token: TOKEN, fingerprint: 'c3_test' });
  const port = Number(new URL(await server.listen()).port);
  let closing: Promise<void> | null = null;
  const close = server.close.bind(server);
  server.close = () => (closing ??= close());
  t.after(() => server.close());
  return { server, port };
}

const own = (port: number): string[] => [`Host: 127.0.0.1:${port}`, `Authorization: Bearer ${TOKEN}`];

it('each refusal reaches a client that writes 9 MiB before it reads', async (t) => {
  const { port } = await served(t);
  const [host = '', token = ''] = own(port);
  const cases: readonly (readonly [number, RegExp, string, ...string[]])[] = [
    [401, /"code":"invalid_api_key"/u, `POST ${PATH}`, host, 'Authorization: Bearer wrong'],
    [401, /bearer token is missing/u, `POST ${PATH}`, host],
    [403, /Host of the request/u, `POST ${PATH}`, 'Host: rebound.example', token],
    [403, /Host of the request/u, `POST ${PATH}`, token],
    [403, /web pages/u, `POST ${PATH}`, host, token, 'Origin: http://127.0.0.1'],
    [404, /nothing at/u, 'POST /v1/embeddings', host, token],
    [405, /must be POST/u, `PUT ${PATH}`, host, token],
    [405, /must be GET/u, 'POST /v1/models', host, token],
    [415, /application\/json/u, `POST ${PATH}`, host, token, 'Content-Type: text/plain'],
    [413, /more than 8388608 bytes/u, `POST ${PATH}`, host, token, JSON_TYPE],
    [413, /"code":"request_too_large"/u, `POST ${PATH}`, host, token, JSON_TYPE, 'Connection: close'],
    [417, /"type":"invalid_request_error"/u, `POST ${PATH}`, host, token, JSON_TYPE, 'Expect: more'],
    [400, /"type":"invalid_request_error"/u, `POST ${PATH}`, host, token, JSON_TYPE, 'Content-Length: 1'],
    [200, /"object":"list"/u, 'GET /v1/models', host, token],
  ];
  for (const [status, words, line, ...headers] of cases) {
    const answer = await writeThenRead(port, [headOf(line, ...headers, LENGTH), BODY]);
    assert.equal(answer.status, status, `${line}: ${answer.body}`);
    assert.match(answer.body, words);
  }
});

it('a body that is too long is refused to a client that writes it in pieces, with and without its length', async (t) => {
  const { port } = await served(t);
  const pieces = Array.from({ length: 144 }, (_, index) => BODY.subarray(index * 2 ** 16, (index + 1) * 2 ** 16));
  const chunks = pieces.map((piece) => Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]));
  for (const [header, sent] of [
    [LENGTH, pieces],
    ['Transfer-Encoding: chunked', [...chunks, '0\r\n\r\n']],
  ] as const) {
    const head = headOf(`POST ${PATH}`, ...own(port), JSON_TYPE, header);
    assert.equal((await writeThenRead(port, [head, ...sent])).status, 413, header);
  }
});

it('a body that is too long is refused each time, to a socket and to fetch', async (t) => {
  const { port } = await served(t);
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const head = headOf(`POST ${PATH}`, ...own(port), JSON_TYPE, LENGTH);
  for (let time = 0; time < TIMES; time++) {
    assert.equal((await writeThenRead(port, [head, BODY])).status, 413, String(time));
  }
  for (let time = 0; time < FETCHES; time++) {
    const fetched = await fetch(`http://127.0.0.1:${port}${PATH}`, { method: 'POST', headers, body: BODY });
    assert.equal(fetched.status, 413, String(time));
    assert.match(await fetched.text(), /more than 8388608 bytes/u);
  }
});

it('a connection goes on after a refusal of a whole request', async (t) => {
  const { port } = await served(t);
  const socket = await connected(port);
  const refused = headOf(`POST ${PATH}`, ...own(port), JSON_TYPE, 'Content-Length: 2');
  for (const [request, status] of [
    [`${refused}{}`, 400],
    [`${refused}no`, 400],
    [headOf('GET /v1/models', ...own(port)), 200],
  ] as const) {
    socket.write(request);
    assert.equal(readAnswer(await heard(socket, '}')).status, status);
  }
  socket.destroy();
});

it('its end waits for no body, and for no client that was refused', async (t) => {
  const { server, port } = await served(t);
  const head = headOf(`POST ${PATH}`, ...own(port), JSON_TYPE, 'Content-Length: 10', 'Expect: 100-continue');
  const [sending, refused] = [await connected(port), await connected(port)];
  refused.on('error', () => undefined).write(headOf(`POST ${PATH}`, 'Host: elsewhere', 'Content-Length: 10'));
  assert.equal(readAnswer(await heard(refused)).status, 403);
  sending.on('error', () => undefined).write(head);
  assert.match(await heard(sending, '\r\n\r\n'), / 100 Continue/u);
  await server.close();
  assert.equal(readAnswer(await heard(sending)).status, 503);
  sending.destroy();
  refused.destroy();
});
