/** Model servers that reset, lie and never end, and programs that leave: no call of them ends the recording. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { begun, got, passingTo, socketServer } from './hostileServer.ts';

const CUT = 'calls whose answer was cut off';
const LEFT = 'calls that the program left before their answer was whole';
const ASKED = { model: 'm', messages: [{ role: 'user', content: '?' }] };
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const STREAM = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const WHOLE = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }] });
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const answerWhole = (socket: Socket): void => {
  socket.end(`${HEAD}content-length: ${Buffer.byteLength(WHOLE)}\r\n\r\n${WHOLE}`);
};
const reset = (socket: Socket, said: string): void => {
  if (said === '') {
    socket.resetAndDestroy();
    return;
  }
  socket.write(said, () => {
    // What was said is to arrive before the reset, which throws away what has not.
    socket.resetAndDestroy();
  });
};

/** What a server does to the first call, and what the program gets of it. */
const FAULTS: readonly (readonly [string, (socket: Socket) => void, { status: number; cut: boolean }])[] = [
  [
    'a reset before any answer',
    (socket) => {
      reset(socket, '');
    },
    { status: 502, cut: false },
  ],
  [
    'a reset within the headers',
    (socket) => {
      reset(socket, HEAD);
    },
    { status: 502, cut: false },
  ],
  [
    'a reset after the headers',
    (socket) => {
      reset(socket, `${HEAD}content-length: 99\r\n\r\n`);
    },
    { status: 200, cut: true },
  ],
  [
    'a reset within the body',
    (socket) => {
      reset(socket, `${HEAD}content-length: 99\r\n\r\n{"choi`);
    },
    { status: 200, cut: true },
  ],
  [
    'a reset within a chunk',
    (socket) => {
      reset(socket, `${STREAM}40\r\ndata: {"cho`);
    },
    { status: 200, cut: true },
  ],
  ['an end within a chunk', (socket) => socket.end(`${STREAM}40\r\ndata: {"cho`), { status: 200, cut: true }],
  ['an end at once', (socket) => socket.end(), { status: 502, cut: false }],
  ['garbage', (socket) => socket.end('\u0000\u0001 nonsense \r\n\r\n'), { status: 502, cut: false }],
  [
    'garbage within an answer',
    (socket) => socket.write(`${STREAM}${chunk('data: 1\n\n')}zz\r\n`),
    { status: 200, cut: true },
  ],
  [
    'another protocol',
    (socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    { status: 502, cut: false },
  ],
  [
    'a status that is none',
    (socket) => socket.end('HTTP/1.1 000 Nothing\r\ncontent-length: 0\r\n\r\n'),
    { status: 502, cut: false },
  ],
];

describe('a model server that breaks off', () => {
  for (const [name, fault, { status, cut }] of FAULTS) {
    it(`by ${name} costs its own call alone, which is counted`, async (t) => {
      const { url } = await socketServer(t, (socket, before) => {
        if (before === 0) {
          fault(socket);
        } else {
          answerWhole(socket);
        }
      });
      const { places, taken, leftOut } = await passingTo(t, url, ({ answer }) => answer === WHOLE);
      const first = await got(places.api, ASKED);
      assert.deepEqual([first.status, first.cut], [status, cut]);
      assert.deepEqual([...leftOut], [[CUT, 1]]);
      const second = await got(places.api, ASKED);
      assert.deepEqual([second.status, second.body, taken.length], [200, WHOLE, 1]);
    });
  }

  it('is one that nobody reaches, which is said as such', async (t) => {
    const { places, leftOut } = await passingTo(t, 'http://user:key@127.0.0.1:9/v1');
    const { status, body } = await got(places.api, ASKED);
    assert.equal(status, 502);
    assert.match(body, /could not be asked: .*ECONNREFUSED/u);
    assert.deepEqual([...leftOut], [['calls that reached no server at http://127.0.0.1:9', 1]]);
  });
});

describe('a program that leaves', () => {
  it('in the middle of an answer ends the call upstream, and is counted', async (t) => {
    const { url, sockets } = await socketServer(t, (socket) => socket.write(`${STREAM}${chunk('data: {}\n\n')}`));
    const { places, leftOut, server } = await passingTo(t, url, () => false);
    const { response, leave } = begun(places.api, ASKED);
    await once(await response, 'data');
    const [upstream] = sockets;
    assert.ok(upstream !== undefined);
    const closed = once(upstream, 'close');
    leave();
    await closed;
    await server.close();
    assert.deepEqual([...leftOut], [[LEFT, 1]]);
  });

  it('after the end of a stream was said has its call recorded, though the connection never ends', async (t) => {
    const { url } = await socketServer(t, (socket) =>
      socket.write(`${STREAM}${chunk('data: {"choices":[]}\n\n')}${chunk('data: [DO')}${chunk('NE]\n\n')}`),
    );
    const { places, taken, leftOut, server } = await passingTo(t, url);
    const { response, leave } = begun(places.api, ASKED);
    const reply = await response;
    let text = '';
    for await (const piece of reply.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      text += piece.toString();
      if (text.endsWith('[DONE]\n\n')) {
        // It was taken in before the program knew its end.
        assert.deepEqual(
          taken.map(({ answer }) => answer),
          [['{"choices":[]}', '[DONE]']],
        );
        break;
      }
    }
    leave();
    await server.close();
    assert.deepEqual([taken.length, [...leftOut]], [1, []]);
  });

  it('before its request is whole is counted', async (t) => {
    const { places, leftOut, server } = await passingTo(t, 'http://127.0.0.1:9/v1');
    const { port, pathname } = new URL(`${places.api}/chat/completions`);
    const socket = connect({ port: Number(port), host: '127.0.0.1' }).on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n`,
    );
    await once(socket, 'data');
    socket.resetAndDestroy();
    await server.close();
    assert.deepEqual([...leftOut], [['calls whose request was cut off', 1]]);
  });
});

it('an answer that never ends ends with the recording', async (t) => {
  const { url, sockets } = await socketServer(t, (socket) => socket.write(`${STREAM}${chunk('data: {}\n\n')}`));
  const { places, leftOut, server } = await passingTo(t, url, () => false);
  const reply = await begun(places.api, ASKED).response;
  reply.on('error', () => undefined);
  await once(reply, 'data');
  const [upstream] = sockets;
  assert.ok(upstream !== undefined);
  const closed = once(upstream, 'close');
  await server.close();
  await closed;
  assert.deepEqual([...leftOut], [[LEFT, 1]]);
});

it('calls of other paths are counted by path, a few of them by name', async (t) => {
  const { url } = await socketServer(t, answerWhole);
  const { places, taken, leftOut } = await passingTo(t, url);
  await got(places.api, {}, '/embeddings?key=secret');
  await got(places.api, {}, '/embeddings/');
  assert.deepEqual([...leftOut], [['calls of /v1/embeddings, which are not recorded', 2]]);
  for (let number = 0; number < 40; number++) {
    await got(places.api, {}, `/files/${number}`);
  }
  assert.equal(leftOut.size, 21);
  assert.equal(leftOut.get('calls of further paths, which are not recorded'), 21);
  assert.equal(taken.length, 0);
});

it('the paths of one protocol are recorded however a client writes them', async (t) => {
  const { url } = await socketServer(t, answerWhole);
  const { places, taken, leftOut } = await passingTo(t, url);
  const paths = [
    '/chat/completions/',
    '/v1/chat/completions',
    '/openai/deployments/my%20team/chat/completions?api-version=2024-10-21',
    '/deployments/a/completions',
    '/responses?x=1',
  ];
  for (const path of paths) {
    assert.equal((await got(places.api, ASKED, path)).status, 200);
  }
  assert.deepEqual(
    taken.map(({ api }) => api),
    ['chat', 'chat', 'chat', 'completions', 'responses'],
  );
  assert.deepEqual([...leftOut], []);
});

it('a stream of 100,000 pieces is passed on in a time that grows with its length', async (t) => {
  const pieces = 100_000;
  const { url } = await socketServer(t, (socket) => {
    const body = `data: {"choices":[]}\n\n${'\n'.repeat(pieces / 2)}data: ${'x'.repeat(pieces / 2)}\n\ndata: [DONE]\n\n`;
    socket.end(`${STREAM}${Array.from(body, chunk).join('')}0\r\n\r\n`);
  });
  const { places, taken } = await passingTo(t, url);
  const { body, cut } = await got(places.api, ASKED);
  assert.deepEqual([cut, body.length > pieces, taken.length], [false, true, 1]);
  assert.deepEqual(taken[0]?.answer.length, 3);
});

it('an event that is too long is passed on, and counted', async (t) => {
  const length = 8 * 2 ** 20 + 100;
  const { url } = await socketServer(t, (socket) => {
    socket.end(`${STREAM}${chunk(`data: ${'x'.repeat(length)}\n\n`)}${chunk('data: [DONE]\n\n')}0\r\n\r\n`);
  });
  const { places, leftOut } = await passingTo(t, url);
  const { body, cut } = await got(places.api, ASKED);
  assert.deepEqual([cut, body.length], [false, length + 'data: \n\ndata: [DONE]\n\n'.length]);
  assert.deepEqual([...leftOut], [['calls whose answer has an event of more than 8388608 characters', 1]]);
});

it('an answer that comes packed is passed on as it is and recorded, one that is cut as far as it came', async (t) => {
  const events = 'data: {"choices":[]}\n\ndata: [DONE]\n\n';
  const packed = [gzipSync(WHOLE), gzipSync(events), gzipSync(events).subarray(0, -8), Buffer.from('no gzip')];
  const types = ['application/json', ...Array<string>(2).fill('text/event-stream'), 'application/json'];
  const { url } = await socketServer(t, (socket, before) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: ${types[before] ?? ''}\r\ncontent-encoding: gzip\r\n\r\n`;
    socket.end(Buffer.concat([Buffer.from(head), packed[before] ?? Buffer.of()]));
  });
  const { places, taken, leftOut } = await passingTo(t, url);
  for (let call = 0; call < packed.length; call++) {
    await got(places.api, ASKED);
  }
  const said = ['{"choices":[]}', '[DONE]'];
  assert.deepEqual(
    taken.map(({ answer }) => answer),
    [WHOLE, said, said],
  );
  assert.deepEqual(
    [...leftOut],
    [['calls whose answer is compressed in an unknown way, damaged, or too long when decompressed', 1]],
  );
});
