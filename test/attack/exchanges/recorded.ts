/** Exchanges of a program with a model server by way of `c3 record`, with faults of both. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import type { LogImport } from '../../../src/domain/episode.ts';
import { PassingServer } from '../../../src/engine/record/passingServer.ts';
import { Recording, type PassedCall } from '../../../src/engine/record/recording.ts';
import type { EngineService } from '../../../src/engine/service.ts';
import { HashedStream } from '../../../src/tasks/hashedStream.ts';
import { seed, type Tally } from '../harness.ts';
import { RawServer } from './rawServer.ts';
import {
  answerBytes,
  answerForm,
  APIS,
  faultIn,
  json,
  PATHS,
  readByClient,
  requestBytes,
  sentBytes,
  textOf,
  type AnswerForm,
  type Fault,
} from './said.ts';
import { settled } from './settled.ts';

/** Bytes of a flood, and of one that comes now and then. */
const FLOOD = 2 ** 18;
const DELUGE = 2 ** 26;
const DELUGES = 1 / 400;

/** A recording that says when an exchange is accounted for. */
class WatchedRecording extends Recording {
  /** Exchanges that were left out, and that were taken in. */
  left = 0;
  taken = 0;

  override leaveOut(reason: string, count = 1): void {
    super.leaveOut(reason, count);
    this.left += count;
  }

  override async take(call: PassedCall): Promise<void> {
    const { left } = this;
    const stored = super.take(call);
    const isTaken = this.left === left;
    await stored;
    this.taken += isTaken ? 1 : 0;
  }
}

/** What a client got of an answer; null where it got none. */
interface Got {
  readonly status: number;
  readonly encoding: string | undefined;
  readonly body: Buffer;
}

/** What must be stored of an exchange, and all that may be. */
interface Expected {
  /** Text that a client read in a whole answer; null where it read none. */
  readonly read: string | null;
  /** Text of the answer that was sent, where nothing but its end may be missing. */
  readonly only: string | null;
}

/** One recording of many exchanges, one after another, and what is known of them. */
export class RecordedLane {
  private readonly upstream = new RawServer();
  private readonly recording: WatchedRecording;
  private readonly tally: Tally;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly expected = new Map<number, Expected>();
  /** Requests that came to no server, and may be counted at any time. */
  private late = 0;
  private server: PassingServer | undefined;
  private api = new URL('http://127.0.0.1');

  constructor(service: EngineService, folder: string, tally: Tally) {
    this.recording = new WatchedRecording(service, { program: 'attack', folder, maskSecrets: false, right: null });
    this.tally = tally;
  }

  async begin(): Promise<void> {
    const settings = { upstream: await this.upstream.listen(), model: null, anthropic: null, azure: null };
    this.server = new PassingServer(this.recording, settings, () => undefined);
    this.api = new URL((await this.server.listen()).api);
  }

  /** One exchange, whose number is drawn by nobody else. */
  async exchange(number: number): Promise<void> {
    const stream = new HashedStream(`exchange ${seed()} ${number}`);
    const api = stream.pick(APIS.map((name) => ({ name }))).name;
    const form = answerForm(api, stream);
    const text = textOf(number, stream);
    const bytes = answerBytes(form, text);
    const kind = stream.pick([
      { name: 'server' },
      { name: 'server' },
      { name: 'server' },
      { name: 'program' },
      { name: 'leaves' },
      { name: 'none' },
    ]).name;
    const fault = kind === 'server' ? faultIn(bytes, stream) : null;
    const most = stream.chance(DELUGES) ? DELUGE : FLOOD;
    const sent = sentBytes(bytes, fault, stream, most);
    const said = Promise.withResolvers<null>();
    this.upstream.expect(number, { sent: () => sent, onSaid: () => said.resolve(null) });
    const what = `exchange ${number}, ${JSON.stringify({ kind, ...form, fault, most })}`;
    const before = this.accounted;
    let got: Got | null;
    let isOwed = true;
    if (kind === 'program') {
      await this.badRequest(number, form, stream, most);
      got = null;
      // What came to no server has no answer that could be recorded.
      isOwed = this.upstream.asked.has(number);
    } else {
      const leaves = kind === 'leaves' ? stream.integer(0, 400) : null;
      got = await this.call(number, form, leaves, sent.then === 'stall' ? said.promise : null);
      // A kept connection may end just when the program uses it again.
      isOwed = got !== null || this.upstream.asked.has(number);
    }
    this.late += isOwed ? 0 : 1;
    await this.tally.attempt(what, async () => {
      assert.ok(await settled(() => this.accounted > before || !isOwed), 'it is neither stored nor counted');
      const more = this.accounted - before - (isOwed ? 1 : 0);
      assert.ok(more <= this.late, `it is counted ${more} times too often`);
      this.late -= more;
    });
    this.upstream.forget(number);
    const read = got === null || got.status >= 300 ? null : readByClient(form, unpacked(got));
    const isBroken = fault !== null && (fault.deed === 'garbage' || fault.deed === 'flood');
    this.expected.set(number, { read, only: isBroken || kind === 'program' ? null : text });
    if (kind === 'none' && isOwed) {
      assert.equal(read, text, `${what}: the client itself did not get the answer`);
    }
  }

  /** Lets all connections go, and ends the recording. */
  async end(): Promise<LogImport> {
    this.agent.destroy();
    await this.server?.close();
    this.upstream.close();
    return this.recording.close();
  }

  /** Compares what is stored with what must be. @param texts of stored messages @param count of all of them */
  check(texts: readonly string[], count: number): void {
    const { tally, expected, recording } = this;
    const all = new Set(texts);
    // Garbage may hit the number at the beginning: the one at the end counts then.
    const stored = Map.groupBy(texts, (text) =>
      Number((/end-(\d+)$/u.exec(text) ?? /planted-(\d+)/u.exec(text))?.[1] ?? -1),
    );
    for (const [number, { read, only }] of expected) {
      const own = stored.get(number) ?? [];
      const what = `exchange ${number} of seed ${seed()}`;
      if (read !== null && !all.has(read)) {
        tally.broken(`${what}: ${JSON.stringify(read)} reached the client and is not stored`);
      }
      if (only !== null && own.some((text) => text !== only)) {
        tally.broken(`${what}: ${JSON.stringify(own)} is stored in the place of ${JSON.stringify(only)}`);
      }
    }
    if (count !== recording.taken) {
      tally.broken(`${count} messages are stored of ${recording.taken} that were taken in`);
    }
    tally.held();
  }

  private get accounted(): number {
    return this.recording.left + this.recording.taken;
  }

  private body(number: number): object {
    return {
      model: 'm',
      messages: [{ role: 'user', content: 'Was?' }],
      prompt: 'Was?',
      input: 'Was?',
      user: `exchange-${number}`,
    };
  }

  /**
   * A call of a program that sends it well.
   * @param leaves bytes after which the program leaves; null where it waits
   * @param stalled resolves once the server says nothing more, and the program leaves; null where it ends
   */
  private async call(
    number: number,
    { api }: AnswerForm,
    leaves: number | null,
    stalled: Promise<null> | null,
  ): Promise<Got | null> {
    const url = new URL(`${this.api.pathname}${PATHS[api]}`, this.api);
    const asked = request(url, { method: 'POST', agent: this.agent, headers: { 'content-type': 'application/json' } });
    asked.on('error', () => undefined).end(JSON.stringify(this.body(number)));
    void stalled?.then(() => leave(asked));
    let reply: IncomingMessage;
    try {
      [reply] = (await once(asked, 'response')) as [IncomingMessage];
    } catch {
      return null;
    }
    const pieces: Buffer[] = [];
    let length = 0;
    try {
      for await (const piece of reply as AsyncIterable<Buffer>) {
        pieces.push(piece);
        length += piece.length;
        if (leaves !== null && length > leaves) {
          asked.destroy();
        }
      }
    } catch {
      return null;
    }
    const { statusCode: status = 0, headers } = reply;
    return reply.complete ? { status, encoding: headers['content-encoding'], body: Buffer.concat(pieces) } : null;
  }

  /** A request that a program sends badly, to its end. */
  private async badRequest(number: number, { api }: AnswerForm, stream: HashedStream, most: number): Promise<void> {
    const url = new URL(`${this.api.pathname}${PATHS[api]}`, this.api);
    const bytes = requestBytes(url, { type: 'application/json' }, json(this.body(number)), stream.chance(0.5));
    const fault: Fault = faultIn(bytes, stream);
    const { pieces, then } = sentBytes(bytes, fault, stream, most);
    const socket = connect({ port: Number(this.api.port), host: '127.0.0.1' });
    const closed = once(socket, 'close').catch(() => undefined);
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    for (const piece of pieces) {
      if (!socket.destroyed && !socket.write(piece)) {
        await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
      }
      await setImmediate();
    }
    if (then === 'reset') {
      socket.resetAndDestroy();
    } else {
      // One that says no more is not waited for.
      socket.end();
    }
    if (!(await settled(() => socket.closed))) {
      this.tally.broken(`exchange ${number}: the connection of a bad request is never closed`);
    }
  }
}

/** Lets what was said arrive, and leaves. */
async function leave(asked: ClientRequest): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    await setImmediate();
  }
  asked.destroy();
}

/** The body as its client reads it; of no form where its encoding is none. */
function unpacked({ encoding, body }: Got): Buffer {
  try {
    return encoding === undefined ? body : encoding === 'gzip' ? gunzipSync(body) : Buffer.of(0xff);
  } catch {
    return Buffer.of(0xff);
  }
}
