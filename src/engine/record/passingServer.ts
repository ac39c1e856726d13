/** A server on this machine that passes calls on to a model server, and says what passed by. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as plainRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { API_PATHS, bodyIn, type RecordedApi } from '../../chat/apiCalls.ts';
import { tracesInProtobuf } from '../../logs/otlpProtobuf.ts';
import { eventsIn } from '../../policy/endpoint/events.ts';
import { returnOf } from '../../logs/scores.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { answerJson, bodyWithin, createLocalServer } from '../http/localServer.ts';
import type { PassedCall, Recording } from './recording.ts';

const LOOPBACK = '127.0.0.1';
/** Bytes of a request, and of an answer that is read; a longer answer passes by unread. */
const MOST_BYTES = 64 * 2 ** 20;
const MOST_EVENT = 8 * 2 ** 20;
/** The first status that is no answer. */
const REFUSED = 300;
/** Headers of one connection, which say nothing to the next. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'accept-encoding',
  'expect',
]);
/** What names speaker and episode; it goes no further. */
const ROLE = 'x-c3-role';
const EPISODE = 'x-c3-episode';
const TRACES = '/v1/traces';

export interface PassingSettings {
  /** Base address of the server that answers, such as `https://api.openai.com/v1`. */
  readonly upstream: string;
  /** The model that every request is sent to, whatever it names; null where requests keep theirs. */
  readonly model: string | null;
}

/** Where a program finds what it is recorded by. */
export interface PassingPlaces {
  readonly api: string;
  readonly traces: string;
  readonly score: string;
}

export class PassingServer {
  private readonly recording: Pick<Recording, 'take' | 'leaveOut' | 'score'>;
  private readonly settings: PassingSettings;
  private readonly onSpans: (body: Buffer) => void;
  private readonly server = createLocalServer((request, response) => {
    void this.receive(request, response);
  }, refusal);
  /** Nobody else on this machine can guess it. */
  private readonly secret = randomBytes(16).toString('hex');
  private port = 0;

  /** @param onSpans hears each body of spans in JSON */
  constructor(
    recording: Pick<Recording, 'take' | 'leaveOut' | 'score'>,
    settings: PassingSettings,
    onSpans: (body: Buffer) => void,
  ) {
    this.recording = recording;
    this.settings = settings;
    this.onSpans = onSpans;
  }

  /** Begins to listen. */
  async listen(): Promise<PassingPlaces> {
    this.server.listen(0, LOOPBACK);
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
    const base = `http://${LOOPBACK}:${String(this.port)}/${this.secret}`;
    return { api: `${base}/v1`, traces: `${base}/otlp`, score: `${base}/score` };
  }

  /** Lets all connections go; the program has ended. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { headers, url = '' } = request;
      const prefix = `/${this.secret}`;
      if (headers.host !== `${LOOPBACK}:${String(this.port)}` || headers.origin !== undefined) {
        await refuse(response, 403, 'Only programs of this machine are answered, and no web pages.');
      } else if (!url.startsWith(`${prefix}/`)) {
        await refuse(response, 404, 'There is nothing here; use the addresses that c3 record gave to the program.');
      } else {
        await this.route(url.slice(prefix.length), request, response);
      }
    } catch (error) {
      await refuse(response, 502, `The server that answers could not be asked: ${messageOf(error)}`);
    }
  }

  private async route(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyWithin(response, MOST_BYTES);
    if (body === null) {
      await refuse(response, 413, `The request has more than ${String(MOST_BYTES)} bytes.`);
    } else if (path === `/otlp${TRACES}`) {
      await this.spans(request, body, response);
    } else if (path === '/score') {
      await this.scored(body, response);
    } else if (path.startsWith('/v1/') || path.startsWith('/v1?')) {
      await this.pass(path.slice('/v1'.length), request, body, response);
    } else {
      await refuse(response, 404, 'There is nothing here; use the addresses that c3 record gave to the program.');
    }
  }

  private async spans({ headers }: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const type = headers['content-type'] ?? '';
    if (/^application\/x-protobuf\b/iu.test(type)) {
      try {
        this.onSpans(Buffer.from(JSON.stringify(tracesInProtobuf(body, 'The batch of spans'))));
      } catch (error) {
        if (!(error instanceof C3Error)) {
          throw error;
        }
        this.recording.leaveOut('batches of spans that are no protocol buffers of OTLP');
        await refuse(response, 400, error.message);
        return;
      }
      response.writeHead(200, { 'content-type': 'application/x-protobuf', 'content-length': 0 }).end();
      return;
    }
    if (!/^application\/json\b/iu.test(type)) {
      this.recording.leaveOut('batches of spans that are neither JSON nor protocol buffers: use OTLP over HTTP');
      await refuse(
        response,
        415,
        'Spans are taken as JSON and as protocol buffers (OTEL_EXPORTER_OTLP_PROTOCOL=http/json).',
      );
      return;
    }
    this.onSpans(body);
    await answerJson(response, 200, {});
  }

  private async scored(body: Buffer, response: ServerResponse): Promise<void> {
    const said = bodyIn(body.toString('utf8'));
    const value = isRecord(said) ? returnOf(said['return']) : null;
    const episode = isRecord(said) && typeof said['episode'] === 'string' ? said['episode'] : null;
    if (value === null) {
      await refuse(response, 400, 'Give {"return": NUMBER}, with "episode" where episodes have names.');
    } else if (await this.recording.score(episode, value)) {
      await answerJson(response, 200, {});
    } else {
      await refuse(response, 404, 'No such episode was recorded, or it has a score already.');
    }
  }

  private async pass(path: string, from: IncomingMessage, body: Buffer, to: ServerResponse): Promise<void> {
    const apis: Readonly<Record<string, RecordedApi | undefined>> = API_PATHS;
    const [plain = ''] = path.split('?');
    const api = from.method === 'POST' && Object.hasOwn(apis, plain) ? apis[plain] : undefined;
    const { upstream, model } = this.settings;
    const url = new URL(`${upstream.replace(/\/+$/u, '')}${path}`);
    const sent = api === undefined || model === null ? body : withModel(body, model);
    const ask = url.protocol === 'https:' ? secureRequest : plainRequest;
    const asked = ask(url, { method: from.method ?? 'GET', headers: onward(from, sent) });
    to.once('close', () => {
      asked.destroy();
    });
    asked.end(sent);
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    const { statusCode = 502, headers } = reply;
    to.writeHead(statusCode, Object.fromEntries(Object.entries(headers).filter(([name]) => !isHop(name))));
    const heard = await passOn(reply, to, api !== undefined);
    if (api !== undefined && statusCode >= REFUSED) {
      this.recording.leaveOut(`calls that the server refused (${String(statusCode)})`);
    } else if (api !== undefined && heard === null) {
      this.recording.leaveOut(`calls whose answer has more than ${String(MOST_BYTES)} bytes`);
    } else if (api !== undefined && heard !== null) {
      const names = { episode: headerOf(from, EPISODE), role: headerOf(from, ROLE) };
      const said = await answerIn(heard, headers['content-type'] ?? '');
      this.recording.take({ api, ...names, request: sent.toString('utf8'), answer: said });
    }
    // The end comes once the call is taken in: what the program asks next comes after it.
    to.end();
  }
}

const isHop = (name: string): boolean => HOP_BY_HOP.has(name);

function onward({ headers }: IncomingMessage, body: Buffer): Record<string, string | string[]> {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || isHop(name) || name === ROLE || name === EPISODE ? [] : [[name, value] as const],
  );
  return {
    ...Object.fromEntries(kept),
    // What passes by is read.
    'accept-encoding': 'identity',
    ...(body.length > 0 && { 'content-length': String(body.length) }),
  };
}

/** A name that the program gave in a header; null for none. */
function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function withModel(body: Buffer, model: string): Buffer {
  const said = bodyIn(body.toString('utf8'));
  return isRecord(said) ? Buffer.from(JSON.stringify({ ...said, model })) : body;
}

/** Passes an answer on piece by piece. @returns its bytes where they are wanted; null where they are too many */
async function passOn(from: IncomingMessage, to: ServerResponse, wanted: boolean): Promise<Buffer | null> {
  const heard: Buffer[] = [];
  let length = 0;
  for await (const piece of from as AsyncIterable<Buffer>) {
    length += piece.length;
    if (wanted && length <= MOST_BYTES) {
      heard.push(piece);
    }
    if (!to.write(piece)) {
      await Promise.race([once(to, 'drain'), once(to, 'close')]);
    }
  }
  return length > MOST_BYTES ? null : Buffer.concat(heard);
}

async function answerIn(heard: Buffer, type: string): Promise<PassedCall['answer']> {
  if (!/^text\/event-stream\b/iu.test(type)) {
    return heard.toString('utf8');
  }
  const pieces: string[] = [];
  for await (const event of eventsIn(Readable.from([heard]), MOST_EVENT)) {
    pieces.push(event);
  }
  return pieces;
}

async function refuse(response: ServerResponse, status: number, message: string): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  await answerJson(response, status, refusal(status, message));
}

function refusal(_status: number, message: string): object {
  return { error: { message, type: 'c3_record', param: null, code: null } };
}
