/** A local server that passes calls on to a model server, and records them. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { detectApi, bodyIn } from '../../chat/apiCalls.ts';
import { readProtobufTraces } from '../../logs/otlpProtobuf.ts';
import { readReturn } from '../../logs/scores.ts';
import { unpackBody } from '../../policy/endpoint/contentEncoding.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { Lanes } from '../../shared/lanes.ts';
import type { NamedServer } from '../../shared/modelServer.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { answerJson, readBodyWithin, createLocalServer } from '../http/localServer.ts';
import { HeardCall } from './heardCall.ts';
import { isHopHeader, OwnConnections, passCallOn, SILENT } from './passOn.ts';
import type { Recording } from './recording.ts';

const LOOPBACK = '127.0.0.1';
/** Most bytes of a request, and of an answer that is read. A longer answer is passed on but not read. */
const MOST_BYTES = 64 * 2 ** 20;
/** Most bytes of span batches that are read at once, and most batches that are unpacked at once. */
const MOST_SPAN_BYTES = 4 * MOST_BYTES;
const MOST_UNPACKED = 2;
/** Headers that name speaker and episode. They are not passed on. */
const ROLE = 'x-c3-role';
const EPISODE = 'x-c3-episode';
const TRACES = '/v1/traces';
const ANTHROPIC = '/anthropic';
const AZURE = '/azure';
const UNASKED = 'The server that answers could not be asked';

export interface PassingSettings {
  /** Base address of the server that answers, such as `https://api.openai.com/v1`. */
  readonly upstream: string;
  /** Model that replaces the model of every request; null to keep the model of the request. */
  readonly model: string | null;
  /** Server for calls of Anthropic's clients; null if these calls are not passed on. */
  readonly anthropic: NamedServer | null;
  /** Address of an Azure resource, or null. */
  readonly azure: string | null;
}

/** The destination of a call. */
interface Onward {
  readonly base: string;
  /** Path below the base address. */
  readonly path: string;
  /** Path that the report shows if such calls are not recorded. */
  readonly shown: string;
  readonly model: string | null;
}

/** The local addresses that the recorded program uses. */
export interface PassingPlaces {
  readonly api: string;
  /** Addresses for Anthropic's and Azure's clients; null if their calls are not passed on. */
  readonly anthropic: string | null;
  readonly azure: string | null;
  readonly traces: string;
  readonly score: string;
}

export class PassingServer {
  private readonly recording: Pick<Recording, 'take' | 'leaveOut' | 'score'>;
  private readonly settings: PassingSettings;
  private readonly onSpans: (batch: object) => void;
  private readonly server = createLocalServer((request, response) => {
    const work = this.receive(request, response).finally(() => this.underWay.delete(work));
    this.underWay.add(work);
  }, createRefusal);
  private readonly sockets = new Set<Socket>();
  /** Requests that are not answered yet. Each one is recorded or counted when it ends. */
  private readonly underWay = new Set<Promise<void>>();
  private spanBytes = 0;
  private readonly unpacking = new Lanes(MOST_UNPACKED);
  private readonly connections = new OwnConnections();
  private readonly otherPaths = new OtherPaths();
  /** Part of every path, so that other programs on this machine cannot guess the addresses. */
  private readonly secret = randomBytes(16).toString('hex');
  private port = 0;

  /** @param onSpans receives each batch of spans, and keeps or counts it before it returns */
  constructor(
    recording: Pick<Recording, 'take' | 'leaveOut' | 'score'>,
    settings: PassingSettings,
    onSpans: (batch: object) => void,
  ) {
    this.recording = recording;
    this.settings = settings;
    this.onSpans = onSpans;
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  async listen(): Promise<PassingPlaces> {
    this.server.listen(0, LOOPBACK);
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
    const base = `http://${LOOPBACK}:${this.port}/${this.secret}`;
    const { anthropic, azure } = this.settings;
    return {
      api: `${base}/v1`,
      anthropic: anthropic === null ? null : `${base}${ANTHROPIC}`,
      azure: azure === null ? null : `${base}${AZURE}`,
      traces: `${base}/otlp`,
      score: `${base}/score`,
    };
  }

  /** Closes all connections, since the program has ended. Resolves once each call is recorded or counted. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) {
      socket.destroy();
    }
    await closed;
    await Promise.all(this.underWay);
    this.connections.close();
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that disconnects is not an error.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    try {
      const { headers, url = '' } = request;
      const prefix = `/${this.secret}`;
      if (headers.host !== `${LOOPBACK}:${this.port}` || headers.origin !== undefined) {
        await refuse(response, 403, 'Only programs of this machine are answered, and no web pages.');
      } else if (!url.startsWith(`${prefix}/`)) {
        await refuse(response, 404, 'There is nothing here; use the addresses that c3 record gave to the program.');
      } else {
        await this.route(url.slice(prefix.length), request, response);
      }
    } catch (error) {
      await refuse(response, 502, `${UNASKED}: ${toErrorMessage(error)}`);
    }
  }

  private async route(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (path !== `/otlp${TRACES}`) {
      await this.read(path, request, response);
      return;
    }
    // A body without a length counts as the longest one.
    const size = Math.min(MOST_BYTES, Number(request.headers['content-length'] ?? MOST_BYTES));
    if (this.spanBytes + size > MOST_SPAN_BYTES) {
      this.recording.leaveOut('batches of spans that came while too many others were being read, which were refused');
      response.setHeader('retry-after', '1');
      await refuse(response, 503, 'Too many batches of spans are being read; send this one again.');
      return;
    }
    this.spanBytes += size;
    try {
      await this.read(path, request, response);
    } finally {
      this.spanBytes -= size;
    }
  }

  private async read(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body: Buffer | null;
    try {
      body = await readBodyWithin(response, MOST_BYTES);
    } catch {
      this.recording.leaveOut('calls whose request was cut off');
      response.destroy();
      return;
    }
    if (body === null) {
      this.recording.leaveOut(`calls whose request has more than ${MOST_BYTES} bytes, which were refused`);
      await refuse(response, 413, `The request has more than ${MOST_BYTES} bytes.`);
    } else if (path === `/otlp${TRACES}`) {
      const packed = body;
      await this.unpacking.within(NEVER, () => this.spans(request, packed, response));
    } else if (path === '/score') {
      await this.scored(body, response);
    } else {
      const onward = this.onwardOf(path);
      if (onward === null) {
        this.recording.leaveOut(this.otherPaths.reasonFor(path));
        await refuse(response, 404, 'There is nothing here; use the addresses that c3 record gave to the program.');
      } else {
        await this.pass(onward, request, body, response);
      }
    }
  }

  /** Returns the destination of a call, or null for an unknown path. */
  private onwardOf(path: string): Onward | null {
    const { upstream, model, anthropic, azure } = this.settings;
    const below = (prefix: string): string | null =>
      path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`) ? path.slice(prefix.length) : null;
    const [asked, askedAnthropic, askedAzure] = [below('/v1'), below(ANTHROPIC), below(AZURE)];
    if (asked !== null) {
      // If OPENAI_BASE_URL is set, an Azure client sends its paths there instead of to its resource.
      return azure !== null && asked.startsWith('/deployments/')
        ? { base: azure, path: `/openai${asked}`, shown: `/openai${asked}`, model: null }
        : { base: upstream, path: asked, shown: `/v1${asked}`, model };
    }
    if (askedAnthropic !== null && anthropic !== null) {
      // Some clients expect /v1 in the given address, others add it to their paths.
      const isWhole = anthropic.isNamed || /^\/v1(?:[/?]|$)/u.test(askedAnthropic);
      const whole = isWhole ? askedAnthropic : `/v1${askedAnthropic}`;
      return { base: anthropic.address, path: whole, shown: whole, model: null };
    }
    return askedAzure === null || azure === null
      ? null
      : { base: azure, path: askedAzure, shown: askedAzure, model: null };
  }

  private async spans({ headers }: IncomingMessage, packed: Buffer, response: ServerResponse): Promise<void> {
    let body: Buffer;
    try {
      body = await unpackBody(packed, headers['content-encoding'], MOST_BYTES);
    } catch (error) {
      this.recording.leaveOut('batches of spans that cannot be unpacked');
      await refuse(response, 400, `The spans cannot be unpacked (${toErrorMessage(error)}).`);
      return;
    }
    const type = headers['content-type'] ?? '';
    if (/^application\/x-protobuf\b/iu.test(type)) {
      try {
        this.onSpans(readProtobufTraces(body, 'The batch of spans'));
      } catch (error) {
        if (!(error instanceof C3Error)) {
          throw error;
        }
        this.recording.leaveOut('batches of spans that are not OTLP protocol buffers');
        await refuse(response, 400, error.message);
        return;
      }
      response.writeHead(200, { 'content-type': 'application/x-protobuf', 'content-length': 0 }).end();
    } else if (!/^application\/json\b/iu.test(type)) {
      this.recording.leaveOut('batches of spans that are neither JSON nor protocol buffers: use OTLP over HTTP');
      await refuse(
        response,
        415,
        'Spans are taken as JSON and as protocol buffers (OTEL_EXPORTER_OTLP_PROTOCOL=http/json).',
      );
    } else {
      const batch = bodyIn(body.toString('utf8'));
      if (isTraceBatch(batch)) {
        this.onSpans(batch);
        await answerJson(response, 200, {});
      } else {
        this.recording.leaveOut('batches of spans that are not OTLP JSON');
        await refuse(response, 400, 'The batch is not OTLP JSON: send an object with a list resourceSpans.');
      }
    }
  }

  private async scored(body: Buffer, response: ServerResponse): Promise<void> {
    const said = bodyIn(body.toString('utf8'));
    const value = isRecord(said) ? readReturn(said['return']) : null;
    const episode = isRecord(said) && typeof said['episode'] === 'string' ? said['episode'] : null;
    if (value === null) {
      await refuse(response, 400, 'Give {"return": NUMBER}, with "episode" if episodes have names.');
    } else if (this.recording.score(episode, value)) {
      await answerJson(response, 200, {});
    } else {
      await refuse(response, 404, 'No such episode was recorded, or it has a score already.');
    }
  }

  private async pass(
    { base, path, shown, model }: Onward,
    from: IncomingMessage,
    body: Buffer,
    to: ServerResponse,
  ): Promise<void> {
    const api = from.method === 'POST' ? detectApi(path) : null;
    const url = new URL(`${base.replace(/\/+$/u, '')}${path}`);
    const sent = api === null || model === null ? body : withModel(body, model);
    let listener = SILENT;
    if (api === null) {
      this.recording.leaveOut(this.otherPaths.reasonFor(shown));
    } else {
      const names = { episode: readNameHeader(from, EPISODE), role: readNameHeader(from, ROLE) };
      const request = await unpackBody(sent, from.headers['content-encoding'], MOST_BYTES).catch(() => sent);
      const call = { api, ...names, request: request.toString('utf8') };
      listener = new HeardCall(this.recording, call, url.origin, MOST_BYTES);
    }
    const asking = { url, method: from.method ?? 'GET', headers: toOnwardHeaders(from, sent), body: sent };
    const unanswered = (why: string): Promise<void> => refuse(to, 502, `${UNASKED}: ${why}`);
    await passCallOn(this.connections, asking, to, { listener, refuse: unanswered });
  }
}

/** Returns true if a value is a batch of spans in the form of OTLP exporters or of servers in Go. */
const isTraceBatch = (value: unknown): value is object =>
  isRecord(value) && [value['resourceSpans'], value['resource_spans']].some((list) => Array.isArray(list));

function toOnwardHeaders({ headers }: IncomingMessage, body: Buffer): Record<string, string | string[]> {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || isHopHeader(name) || name === ROLE || name === EPISODE ? [] : [[name, value] as const],
  );
  return {
    ...Object.fromEntries(kept),
    // The answer is read here, so it must not be compressed.
    'accept-encoding': 'identity',
    ...(body.length > 0 && { 'content-length': String(body.length) }),
  };
}

/** Returns a name that the program gave in a header, or null. */
function readNameHeader({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function withModel(body: Buffer, model: string): Buffer {
  const said = bodyIn(body.toString('utf8'));
  return isRecord(said) ? Buffer.from(JSON.stringify({ ...said, model })) : body;
}

async function refuse(response: ServerResponse, status: number, message: string): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  await answerJson(response, status, createRefusal(status, message));
}

function createRefusal(_status: number, message: string): object {
  return { error: { message, type: 'c3_record', param: null, code: null } };
}

/** Most paths that are counted by name, and most characters of a path in the report. */
const MOST_PATHS = 20;
const MOST_PATH = 100;

/** Removes the query and the trailing slashes from a path. */
function toPlainPath(path: string): string {
  const [plain = ''] = path.split('?', 1);
  // Not a regular expression: a long row of slashes that ends with another character would be slow.
  let end = plain.length;
  while (plain[end - 1] === '/') {
    end--;
  }
  return plain.slice(0, end);
}

/** Names the paths of calls that were not recorded, up to a number of paths. */
class OtherPaths {
  private readonly named = new Set<string>();

  /** Returns the reason why a call of this path was left out. */
  reasonFor(path: string): string {
    const name = toOneLine(toPlainPath(path), MOST_PATH);
    if (this.named.size < MOST_PATHS) {
      this.named.add(name);
    }
    return `calls of ${this.named.has(name) ? name : 'further paths'}, which are not recorded`;
  }
}
