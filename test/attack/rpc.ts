/**
 * Hostile peers of the engine: whatever comes over its socket, it continues to answer others and holds no
 * more than a frame.
 */

import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { connectToEngine } from '../../src/client/startEngine.ts';
import { InitializeRequest, REQUESTS } from '../../src/shared/protocols/engineProtocol.ts';
import { startEngine, type EngineProcess } from '../unit/engine/engineProcess.ts';
import { makeWorkspace } from '../unit/engine/workspace.ts';
import { seed, tally } from './harness.ts';

const peers = tally('rpc');

let folder = '';

const METHODS = [
  InitializeRequest,
  REQUESTS.contextTokens,
  REQUESTS.inspectModel,
  REQUESTS.jobs,
  REQUESTS.label,
  REQUESTS.plan,
  REQUESTS.replay,
  REQUESTS.restartJob,
  REQUESTS.resumeRun,
  REQUESTS.startRun,
  REQUESTS.taxonomy,
  REQUESTS.testModel,
  REQUESTS.verify,
  REQUESTS.cancelRun,
].map(({ method }) => method);

async function peer(engine: EngineProcess): Promise<Socket> {
  const socket = await connectToEngine(engine.store);
  if (socket === null) {
    return peers.broken('the engine takes no connections any longer');
  }
  socket.on('error', () => undefined);
  socket.resume();
  return socket;
}

/** A client that behaves is answered still. */
async function answers(engine: EngineProcess, what: string): Promise<void> {
  const list = await Promise.race([engine.connection.sendRequest(REQUESTS.jobs), engine.exit.then(() => null)]);
  if (list === null) {
    return peers.broken(`${what}: the engine ended`);
  }
  if (!Array.isArray(list.jobs)) {
    peers.broken(`${what}: the engine answers ${JSON.stringify(list)}`);
  }
  peers.held();
}

const frame = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Megabytes that a process holds. */
const held = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** Writes until the other side closes, at most so many megabytes. */
async function flood(socket: Socket, start: string, megabytes: number): Promise<void> {
  const chunk = Buffer.alloc(1 << 20, 0x20);
  socket.write(start);
  for (let written = 0; written < megabytes && !socket.destroyed; written++) {
    if (!socket.write(chunk)) {
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
    }
  }
  socket.destroy();
}

/** How much is tried. */
export interface RpcSizes {
  /** Connections that send bytes that are no messages. */
  readonly connections: number;
  /** Megabytes of a frame that never ends. */
  readonly megabytes: number;
  /** Brackets within brackets. */
  readonly depth: number;
  /** Lists of hostile requests. */
  readonly requests: number;
}

/** Attacks over the socket of an engine, as many as the sizes say. */
export function rpcAttacks(sizes: RpcSizes): void {
  before(async () => {
    folder = await makeWorkspace();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  describe(
    'the socket of an engine',
    { skip: process.platform === 'win32' ? 'memory is read from /proc' : false },
    () => {
      it('survives bytes that are no messages', async (t) => {
        const engine = await startEngine(t, folder);
        const bytes = fc.oneof(
          fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
          fc
            .constantFrom(
              'Content-Length: -1\r\n\r\n{}',
              'Content-Length: NaN\r\n\r\n',
              'Content-Length: 1e3\r\n\r\n',
              'Content-Length: 999999999999\r\n\r\n{',
              '\r\n\r\n',
              'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
              'Content-Length: 4\r\nContent-Length: 2\r\n\r\n{}{}',
              'content-length:5\r\nContent-Type: application/x; charset=utf-16\r\n\r\n[][][',
              frame('{'),
              frame('"x"'),
              frame('[]'),
              frame('null'),
              frame('1'),
            )
            .map((text) => Buffer.from(text)),
        );
        await fc.assert(
          fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 4 }), async (parts) => {
            const socket = await peer(engine);
            for (const part of parts) {
              socket.write(part);
            }
            socket.end();
            await answers(engine, JSON.stringify(parts.map((part) => part.toString('latin1'))));
            socket.destroy();
          }),
          { seed: seed(), numRuns: sizes.connections },
        );
      });

      it('holds no frame that is longer than a message can be', async (t) => {
        const engine = await startEngine(t, folder);
        const before = held(engine.pid);
        for (const start of [
          'Content-Length: 4000000000\r\n\r\n',
          'Content-Length: 999999999999999999999\r\n\r\n',
          'X: ',
          'a'.repeat(5_000),
        ]) {
          await flood(await peer(engine), start, sizes.megabytes);
          await answers(engine, start.slice(0, 40));
          const more = held(engine.pid) - before;
          if (more > 150) {
            peers.broken(`${start.slice(0, 40)}: the engine holds ${more.toFixed(0)} MB more`);
          }
        }
      });

      it('answers wrong types, prototype keys and deep nesting with an error, and continues', async (t) => {
        const engine = await startEngine(t, folder);
        const deep = `${'['.repeat(sizes.depth)}${']'.repeat(sizes.depth)}`;
        const value = fc.oneof(
          fc.constantFrom(
            'null',
            '[]',
            '{}',
            '1',
            '-1',
            '1e308',
            '"x"',
            '""',
            'true',
            '{"__proto__":{"run":"x"}}',
            '{"constructor":{"prototype":{}}}',
            '{"run":{"toString":1},"message":{},"job":[],"folder":[],"store":{}}',
            '{"run":"__proto__","message":1e308,"job":"constructor","folder":"\\u0000","overrides":"x","config":7}',
            '{"message":9007199254740993,"alternatives":1e9,"replays":-1,"text":[]}',
          ),
          fc.json(),
        );
        const requests = fc.tuple(
          fc.constantFrom(...METHODS, '__proto__', 'constructor', 'toString', 'hasOwnProperty', '$/cancelRequest', ''),
          value,
          fc.constantFrom('1', '"a"', 'null', '{}', '1e999'),
        );
        await fc.assert(
          fc.asyncProperty(fc.array(requests, { minLength: 1, maxLength: 5 }), async (all) => {
            const socket = await peer(engine);
            for (const [method, params, id] of all) {
              socket.write(
                frame(
                  `{"jsonrpc":"2.0","id":${id === '1e999' ? '1e300' : id},"method":${JSON.stringify(method)},"params":${params}}`,
                ),
              );
            }
            await answers(engine, JSON.stringify(all));
            socket.destroy();
          }),
          { seed: seed(), numRuns: sizes.requests },
        );
        for (const method of METHODS) {
          const socket = await peer(engine);
          socket.write(frame(`{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${deep}}`));
          await answers(engine, `${method} with deep nesting`);
          socket.destroy();
        }
      });
    },
  );
}
