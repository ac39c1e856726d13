/** Serves a model by the OpenAI-compatible protocol, on this machine only. */

import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onAbort } from '../../shared/cancellation.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { answerJson, readBodyWithin, createLocalServer } from '../http/localServer.ts';
import { answerServed, type ServedModel } from './answering.ts';
import { createPieceBody, createUsageBody, createWholeBody, type BodyHead } from './bodies.ts';
import type { Delta } from './choice.ts';
import { createErrorBody, ServeError } from './serveError.ts';
import { readServedRequest, type ServedApi, type ServedRequest } from './serveRequest.ts';

const LOOPBACK = '127.0.0.1';
/** Most bytes of a request's body, and most connections. */
const MOST_BYTES = 8 * 2 ** 20;
const MOST_CONNECTIONS = 512;
/** Milliseconds in which a request must arrive. */
const ARRIVAL = 60_000;
/** Largest seed that is drawn for a request without one. */
const MOST_SEED = 2 ** 48 - 1;

const APIS: Readonly<Record<string, ServedApi>> = { '/v1/chat/completions': 'chat', '/v1/completions': 'completions' };

export interface ModelServerSettings {
  /** 0 for any free port. */
  readonly port: number;
  /** Bearer token that requests must have. */
  readonly token: string;
  /** Identifies weights and numeric environment. */
  readonly fingerprint: string;
}

/** Draws a random bearer token. */
export const drawToken = (): string => randomBytes(24).toString('base64url');

export class ModelServer {
  private readonly model: ServedModel;
  private readonly settings: ModelServerSettings;
  private readonly stopping = new AbortController();
  private readonly server: Server;
  private readonly answering = new Set<Promise<void>>();
  private port = 0;

  constructor(model: ServedModel, settings: ModelServerSettings) {
    this.model = model;
    this.settings = settings;
    this.server = createLocalServer(
      (request, response) => {
        const answered = this.receive(request, response);
        this.answering.add(answered);
        void answered.finally(() => this.answering.delete(answered));
      },
      (status, message) => createErrorBody(new ServeError(status, message)),
      { requestTimeout: ARRIVAL, headersTimeout: ARRIVAL },
    );
    this.server.maxConnections = MOST_CONNECTIONS;
  }

  /** Starts to serve. @returns the base address. @throws C3Error('input') if the port is not available */
  async listen(): Promise<string> {
    const { port } = this.settings;
    try {
      this.server.listen(port, LOOPBACK);
      await once(this.server, 'listening');
    } catch (error) {
      throw new C3Error('input', `Port ${port} is not available: ${toErrorMessage(error)}; give another --port.`, {
        cause: error,
      });
    }
    this.port = (this.server.address() as AddressInfo).port;
    return `http://${LOOPBACK}:${this.port}/v1`;
  }

  /** Cancels all answers with an error for their clients, and closes all connections. */
  async close(): Promise<void> {
    this.stopping.abort();
    const closed = once(this.server, 'close');
    this.server.close();
    await Promise.all(this.answering);
    this.server.closeAllConnections();
    await closed;
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const release = onAbort(this.stopping.signal, () => left.abort());
    try {
      await this.route(request, response, left.signal);
    } catch (error) {
      await refuseRequest(response, error);
    } finally {
      release();
    }
  }

  private async route(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    this.admit(request);
    const path = (request.url ?? '').split('?')[0] ?? '';
    const api = Object.hasOwn(APIS, path) ? APIS[path] : undefined;
    if (api !== undefined) {
      requireMethod(request, 'POST');
      await this.answer(api, await readJsonBody(response, signal), response, signal);
      return;
    }
    const { name } = this.model;
    const described = { id: name, object: 'model', created: 0, owned_by: 'c3' };
    if (path === '/v1/models') {
      requireMethod(request, 'GET');
      await answerJson(response, 200, { object: 'list', data: [described] });
    } else if (path === `/v1/models/${encodeURIComponent(name)}`) {
      requireMethod(request, 'GET');
      await answerJson(response, 200, described);
    } else {
      throw new ServeError(
        404,
        `There is nothing at ${JSON.stringify(path.slice(0, 80))}; this server has ${[...Object.keys(APIS), '/v1/models'].join(', ')}.`,
      );
    }
  }

  /** @throws ServeError for a request that must not be answered, such as any request of a web page */
  private admit({ headers }: IncomingMessage): void {
    const hosts = [LOOPBACK, 'localhost'].map((host) => `${host}:${this.port}`);
    if (!hosts.includes(headers.host ?? '')) {
      throw new ServeError(403, `The Host of the request is not ${hosts.join(' or ')}.`);
    }
    if (headers.origin !== undefined) {
      throw new ServeError(403, 'Requests of web pages (with an Origin) are not answered.');
    }
    const [, given = ''] = /^Bearer +(\S+)$/iu.exec(headers.authorization ?? '') ?? [];
    const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
    if (!timingSafeEqual(digest(given), digest(this.settings.token))) {
      throw new ServeError(401, 'The bearer token is missing or wrong; give the one that `c3 serve` printed.');
    }
  }

  private async answer(api: ServedApi, body: unknown, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const request = readServedRequest(api, body, this.model.name);
    const head: BodyHead = {
      id: `${api === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomBytes(12).toString('hex')}`,
      created: Math.floor(Date.now() / 1000),
      model: this.model.name,
      fingerprint: this.settings.fingerprint,
      seed: request.seed ?? randomInt(MOST_SEED),
    };
    if (request.stream) {
      await this.stream(request, head, response, signal);
      return;
    }
    const answered = await answerServed(this.model, request, head.seed, signal);
    await answerJson(response, 200, await createWholeBody(this.model.tokenizer, request, head, answered));
  }

  private async stream(
    request: ServedRequest,
    head: BodyHead,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { tokenizer } = this.model;
    // Pieces are written in their order, although their token texts are computed asynchronously.
    let writing = Promise.resolve();
    const begin = (): void => {
      if (!response.headersSent) {
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
      }
    };
    const send = (make: () => object | Promise<object>): void => {
      writing = writing.then(async () => {
        const body = await make();
        begin();
        response.write(formatServerEvent(body));
      });
      // The error is reported where all writes are awaited.
      writing.catch(() => undefined);
    };
    const onDelta = (index: number, delta: Delta): void =>
      send(() => createPieceBody(tokenizer, request, head, index, delta, null));
    const answered = await answerServed(this.model, request, head.seed, signal, onDelta);
    for (const [index, { finish }] of answered.choices.entries()) {
      send(() => createPieceBody(tokenizer, request, head, index, { text: '', tokens: [], logprobs: [] }, finish));
    }
    if (request.streamUsage) {
      send(() => createUsageBody(request, head, answered));
    }
    await writing;
    response.end('data: [DONE]\n\n');
  }
}

const formatServerEvent = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;

async function refuseRequest(response: ServerResponse, error: unknown): Promise<void> {
  const refused =
    error instanceof ServeError
      ? error
      : error instanceof CancelledError
        ? new ServeError(503, 'The server was stopped before the answer was complete.')
        : new ServeError(500, `The answer could not be computed: ${toErrorMessage(error)}`);
  if (response.destroyed) {
    return;
  }
  if (response.headersSent) {
    response.end(formatServerEvent(createErrorBody(refused)));
    return;
  }
  if (refused.retryAfter !== null) {
    response.setHeader('retry-after', String(refused.retryAfter));
  }
  await answerJson(response, refused.status, createErrorBody(refused));
}

function requireMethod({ method }: IncomingMessage, wanted: string): void {
  if (method !== wanted) {
    throw new ServeError(405, `The method must be ${wanted}.`);
  }
}

/** Reads the body of a request. @throws ServeError if it is too long or not JSON; CancelledError */
async function readJsonBody(response: ServerResponse, signal: AbortSignal): Promise<unknown> {
  if (!/^application\/json\b/iu.test(response.req.headers['content-type'] ?? '')) {
    throw new ServeError(415, 'The Content-Type must be application/json.');
  }
  const body = await readBodyWithin(response, MOST_BYTES, signal);
  if (body === null) {
    throw new ServeError(413, `The body has more than ${MOST_BYTES} bytes.`);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch (error) {
    throw new ServeError(400, `The body is not JSON in UTF-8: ${toErrorMessage(error)}.`);
  }
}
