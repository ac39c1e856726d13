/** What reaches clients that are answered before they have said everything, and how long a server bears them. */

import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import type { RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import {
  answerJson,
  readBodyWithin,
  createLocalServer,
  type Lingering,
} from '../../../../src/engine/http/localServer.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { connected, headOf, heard, readAnswer, writeForever, writeThenRead } from './rawClient.ts';

const MEGABYTE = Buffer.alloc(2 ** 20, 'a');
const MUCH = Buffer.alloc(9 * 2 ** 20, 'a');
const HOST = 'Host: here';
/** Nothing ends by itself within a test. */
const LONG: Lingering = { bytes: 2 ** 30, milliseconds: 3_600_000 };

async function listening(
  t: TestContext,
  listener: RequestListener,
  lingering: Lingering = LONG,
  options: ServerOptions = {},
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createLocalServer(listener, (status, message) => ({ status, message }), options, lingering);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** Refuses without reading. */
const refusing =
  (lingering: Lingering = LONG): RequestListener =>
  (_request, response) =>
    void answerJson(response, 403, { no: true }, lingering);

/** Says how long a body is, or that it has more than a megabyte. */
const measuring: RequestListener = (_request, response) => {
  void (async () => {
    const body = await readBodyWithin(response, 2 ** 20);
    await answerJson(response, body === null ? 413 : 200, { length: body?.length ?? null }, LONG);
  })().catch(() => undefined);
};

const post = (...headers: readonly string[]): string => headOf('POST /', HOST, ...headers);
const chunk = (body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);

/** How many bytes a server reads of each connection, as they close. */
function readOf(server: Server): () => Promise<number> {
  server.on('connection', (socket: Socket) => socket.once('close', () => server.emit('read', socket.bytesRead)));
  const closed = on(server, 'read') as AsyncIterator<readonly [number], undefined>;
  return async () => (await closed.next()).value?.[0] ?? 0;
}

describe('a client that writes 9 MiB before it reads', () => {
  const sent = `Content-Length: ${MUCH.length}`;
  const cases: Readonly<Record<string, readonly [status: number, ...pieces: (string | Buffer)[]]>> = {
    'is refused unread': [403, post(sent), MUCH],
    'is refused unread, in pieces': [403, post(sent), ...Array<Buffer>(9).fill(MEGABYTE)],
    'is refused unread, in chunks': [403, post('Transfer-Encoding: chunked'), chunk(MUCH), '0\r\n\r\n'],
    'wants its connection closed': [403, post(sent, 'Connection: close'), MUCH],
    'asks for a head only': [403, headOf('HEAD /', HOST, sent), MUCH],
    'has no Host': [403, headOf('POST /', sent), MUCH],
    'expects something else': [417, post(sent, 'Expect: 200-ok'), MUCH],
    'has a length that is none': [400, post('Content-Length: 1x'), MUCH],
    'has two lengths': [400, post('Content-Length: 1', sent), MUCH],
    'has a chunk that is none': [400, `${post('Transfer-Encoding: chunked')}x\r\n`, MUCH],
    'has a head without end': [431, 'GET / HTTP/1.1\r\nx: ', MUCH],
    'speaks another protocol': [400, MUCH],
  };
  for (const [name, [status, ...pieces]] of Object.entries(cases)) {
    it(name, async (t) => {
      const { port } = await listening(t, refusing());
      if (name === 'asks for a head only') {
        await assert.rejects(
          writeThenRead(port, pieces),
          /^Error: No whole answer: "HTTP\/1\.1 403 Forbidden.*\\r\\n\\r\\n"$/u,
        );
        return;
      }
      const answer = await writeThenRead(port, pieces);
      assert.equal(answer.status, status, answer.body);
      assert.match(answer.headers, /^connection: close$/imu);
    });
  }

  it('is told so as soon as its body is too long, whether it says the length or not', async (t) => {
    const { port } = await listening(t, measuring);
    for (const pieces of [
      [post(sent), MUCH],
      [post('Transfer-Encoding: chunked'), ...Array<Buffer>(9).fill(chunk(MEGABYTE)), '0\r\n\r\n'],
    ]) {
      assert.deepEqual(
        [(await writeThenRead(port, pieces)).status, (await writeThenRead(port, pieces)).body],
        [413, '{"length":null}'],
      );
    }
  });

  it('hears what is wrong with a chunk of a body that is read', async (t) => {
    const { port } = await listening(t, measuring);
    const { status, body } = await writeThenRead(port, [post('Transfer-Encoding: chunked'), 'x\r\n', MUCH]);
    assert.equal(status, 400);
    assert.match(body, /"message":"The request is not valid/u);
  });
});

describe('a client that was refused', () => {
  it('hears at once that nothing more is answered, and is let go when it ends too', async (t) => {
    const { port } = await listening(t, refusing());
    const socket = await connected(port);
    socket.write(`${post('Content-Length: 10')}a`);
    assert.equal(readAnswer(await heard(socket)).status, 403);
    assert.equal(socket.writable, true);
    const closed = once(socket, 'close');
    socket.end();
    await closed;
  });

  it('keeps its connection where its request is whole', async (t) => {
    const { port } = await listening(t, refusing());
    const socket = await connected(port);
    for (const request of [headOf('GET /', HOST), `${post('Content-Length: 3')}abc`, headOf('GET /', HOST)]) {
      socket.write(request);
      const { status, headers } = readAnswer(await heard(socket, '{"no":true}'));
      assert.equal(status, 403);
      assert.doesNotMatch(headers, /^connection: close$/imu);
    }
    socket.destroy();
  });

  it('cannot hide another request in what is thrown away', async (t) => {
    let requests = 0;
    const { port } = await listening(t, (request, response) => {
      requests++;
      refusing()(request, response);
    });
    const hidden = headOf('GET /hidden', HOST);
    await writeThenRead(port, [post('Content-Length: 10'), 'a', `bcdefghij${hidden}`, hidden]);
    assert.equal(requests, 1);
  });

  it('is not borne beyond a number of bytes', async (t) => {
    const lingering = { ...LONG, bytes: 4 * 2 ** 20 };
    const { server, port } = await listening(t, refusing(lingering), lingering);
    const closed = readOf(server);
    for (const head of [post('Transfer-Encoding: chunked'), 'none\r\n\r\n']) {
      assert.match(await writeForever(port, head, chunk(MEGABYTE)), /^HTTP\/1\.1 40[03] /u);
      const read = await closed();
      assert.ok(read > 4 * 2 ** 20 && read < 6 * 2 ** 20, String(read));
    }
  });

  it('is not borne beyond a time', async (t) => {
    const lingering = { ...LONG, milliseconds: 50 };
    const { server, port } = await listening(t, refusing(lingering), lingering);
    const closed = readOf(server);
    for (const head of [post('Content-Length: 10'), 'none\r\n\r\n']) {
      const socket = await connected(port);
      socket.write(head);
      assert.match(await heard(socket), /^HTTP\/1\.1 40[03] /u);
      assert.equal(await closed(), head.length);
      socket.destroy();
    }
  });

  it('is let go at once when the server ends', async (t) => {
    const { server, port } = await listening(t, refusing());
    const sockets: Socket[] = [];
    for (const head of [post('Content-Length: 10'), 'none\r\n\r\n', headOf('CONNECT there:1', HOST)]) {
      const socket = await connected(port);
      socket.on('error', () => undefined).write(head);
      assert.match(await heard(socket), /^HTTP\/1\.1 40[035] /u);
      sockets.push(socket);
    }
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    for (const socket of sockets) {
      socket.destroy();
    }
  });

  it('is none of an answer that has begun', async (t) => {
    const { port } = await listening(t, (_request, response) =>
      response.writeHead(200, { 'content-length': 10 }).write('begun'),
    );
    const socket = await connected(port);
    socket.write(headOf('GET /', HOST));
    await heard(socket, 'begun');
    socket.write('none\r\n\r\n');
    assert.equal(await heard(socket), '');
  });

  it('is one that took too long', async (t) => {
    const { port } = await listening(t, refusing(), LONG, {
      headersTimeout: 20,
      requestTimeout: 20,
      connectionsCheckingInterval: 10,
    });
    assert.equal((await writeThenRead(port, ['GET / HTTP/1.1\r\n'])).status, 408);
  });
});

describe('a client that waits for leave to send its body', () => {
  const expecting = (length: number): string => post(`Content-Length: ${length}`, 'Expect: 100-continue');

  it('gets it where the body is read', async (t) => {
    const { port } = await listening(t, measuring);
    const socket = await connected(port);
    socket.write(expecting(3));
    assert.equal(await heard(socket, '\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('abc');
    assert.equal(readAnswer(await heard(socket, '}')).body, '{"length":3}');
    socket.destroy();
  });

  it('gets the refusal alone where it is not, and the end of the connection', async (t) => {
    for (const [listener, status] of [
      [refusing(), 403],
      [measuring, 413],
    ] as const) {
      const { port } = await listening(t, listener);
      const answer = await writeThenRead(port, [expecting(MUCH.length)]);
      assert.equal(answer.status, status);
      assert.match(answer.headers, /^connection: close$/imu);
    }
  });
});

it('a body that is read ends with the signal, and with its client', async (t) => {
  const stopping = new AbortController();
  const reading: Promise<unknown>[] = [];
  const { port } = await listening(t, (_request, response: ServerResponse) => {
    const read = readBodyWithin(response, 10, stopping.signal);
    read.catch(() => undefined);
    reading.push(read);
  });
  const [staying, leaving] = [await connected(port), await connected(port)];
  for (const socket of [staying, leaving]) {
    socket.write(post('Content-Length: 10', 'Expect: 100-continue'));
    await heard(socket, '\r\n\r\n');
  }
  leaving.destroy();
  await assert.rejects(Promise.resolve(reading[1]), /The client disconnected/u);
  stopping.abort();
  await assert.rejects(Promise.resolve(reading[0]), CancelledError);
  staying.destroy();
});
