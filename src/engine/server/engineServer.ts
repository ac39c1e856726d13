/** The engine's conversations: any number of windows and commands at once, all about one store. */
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import {
  createMessageConnection,
  ResponseError,
  SocketMessageReader,
  SocketMessageWriter,
  type CancellationToken,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import {
  CANCELLED_CODE,
  CancelRunRequest,
  ContextTokensRequest,
  DoctorRequest,
  FAILED_CODE,
  InitializeRequest,
  InspectModelRequest,
  JobsChangedNotification,
  JobsRequest,
  ImportLogRequest,
  LabelRequest,
  LogNotification,
  OfferKeysRequest,
  PlanRequest,
  PROTOCOL_VERSION,
  RecordProgressNotification,
  RecordRequest,
  ReplayCostsRequest,
  ReplayProgressNotification,
  ReplaceRequest,
  ReplayRequest,
  RestartJobRequest,
  ResumeRunRequest,
  RunProgressNotification,
  ShutdownRequest,
  StartRunRequest,
  StoreWaitNotification,
  TaxonomyRequest,
  TestModelProgressNotification,
  TestModelRequest,
  UpdateStoreRequest,
  VerifyCostsRequest,
  VerifyProgressNotification,
  VerifyRequest,
  YieldRequest,
  type RecordProgress,
  type ReplayParams,
  type StartRunParams,
} from '../../shared/protocols/engineProtocol.ts';
import { DEFAULT_PROVIDER } from '../../shared/devices.ts';
import { anyOf } from '../../shared/cancellation.ts';
import { C3Error, CancelledError, failureData, messageOf } from '../../shared/errors.ts';
import type { ClientKind } from '../../shared/protocols/jobs.ts';
import type { ReplayResult } from '../../shared/records/settle.ts';
import { examine } from '../machine/doctor.ts';
import { clientWindow } from './clientWindow.ts';
import type { EngineLog } from './engineLog.ts';
import { boundFrames } from './frameBound.ts';
import { JobQueue } from './jobs.ts';
import { inspectModel } from '../models/modelFacts.ts';
import { testModel } from '../models/modelTest.ts';
import { readRecipe } from '../recipe/recipe.ts';
import { record, upstreamOf } from '../record/record.ts';
import { modelToServe, whileServing } from '../serve/whileServing.ts';
import { EngineService } from '../service.ts';
import { VERSION } from '../version.ts';

/** An answer that was given is on its way by then. */
const ANSWER_MILLISECONDS = 50;

interface Client {
  readonly connection: MessageConnection;
  readonly socket: Socket;
  /** Null until it has introduced itself. */
  kind: ClientKind | null;
  readonly gone: AbortController;
}

export interface ServerEvents {
  /** Whether anything needs the engine may have changed. */
  changed(): void;
  /** The engine is to end now. */
  end(): void;
}

export class EngineServer {
  private readonly store: string;
  private readonly log: EngineLog;
  private readonly events: ServerEvents;
  private readonly service: EngineService;
  private readonly jobs: JobQueue;
  private readonly clients = new Set<Client>();
  /** Requests under way, runs left out. */
  private asked = 0;

  constructor(store: string, log: EngineLog, events: ServerEvents) {
    this.store = store;
    this.log = log;
    this.events = events;
    this.service = new EngineService(store, {
      onWaiting: (words) => {
        this.waiting(words);
      },
    });
    this.jobs = new JobQueue(this.service, {
      changed: (list) => {
        this.broadcast((to) => to.sendNotification(JobsChangedNotification, list));
        events.changed();
      },
      progress: (progress) => {
        this.broadcast((to) => to.sendNotification(RunProgressNotification, progress));
      },
      log: (line) => {
        log.write(line);
      },
    });
    log.onLine = (line) => {
      this.broadcast((to) => to.sendNotification(LogNotification, { line }));
    };
  }

  /** Whether somebody is connected, a run is in progress or waits, or something is being answered. */
  get needed(): boolean {
    return this.clients.size > 0 || !this.idle;
  }

  private get idle(): boolean {
    return !this.jobs.busy && this.asked === 0;
  }

  /** Talks with whoever connected. What a client asked for that is no run is cancelled when it goes. */
  accept(socket: Socket): void {
    boundFrames(socket);
    const connection = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
    const client: Client = { connection, socket, kind: null, gone: new AbortController() };
    this.clients.add(client);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      client.gone.abort();
      this.clients.delete(client);
      connection.dispose();
      this.events.changed();
    });
    connection.onError(() => undefined);
    this.answer(client);
    connection.listen();
    this.events.changed();
  }

  /** Cancels what is in progress, waits for its end and closes every connection. */
  async close(): Promise<void> {
    await this.service.close();
    for (const { socket } of this.clients) {
      socket.end();
    }
  }

  private answer(client: Client): void {
    const { connection } = client;
    const { jobs, service } = this;
    connection.onRequest(InitializeRequest, ({ store, client: kind }) =>
      this.answering(() => {
        if (store !== this.store) {
          throw new C3Error('engine', `This engine serves the store ${this.store}, not ${store}.`);
        }
        client.kind = kind;
        if (kind === 'window' && !client.gone.signal.aborted) {
          const leave = service.endpoints.windows.add(clientWindow(connection, client.gone.signal));
          client.gone.signal.addEventListener('abort', leave, { once: true });
        }
        return {
          version: VERSION,
          protocol: PROTOCOL_VERSION,
          pid: process.pid,
          log: this.log.recent(),
          list: jobs.list(),
        };
      }),
    );
    connection.onRequest(YieldRequest, () =>
      this.answering(() => {
        // This request itself is under way.
        const ending = !jobs.busy && this.asked === 1;
        if (ending) {
          this.endSoon();
        }
        return { ending };
      }),
    );
    connection.onRequest(StartRunRequest, (params) => this.answering(() => jobs.start(params, asker(client))));
    connection.onRequest(ReplaceRequest, (params) => this.answering(() => service.replacement(params)));
    connection.onRequest(ResumeRunRequest, ({ run }) => this.answering(() => jobs.resume(run, asker(client))));
    connection.onRequest(RestartJobRequest, ({ job }) => this.answering(() => jobs.restart(job, asker(client))));
    connection.onRequest(CancelRunRequest, ({ job }) => this.answering(() => jobs.cancel(job)));
    connection.onRequest(JobsRequest, () => this.answering(() => jobs.list()));
    connection.onRequest(PlanRequest, ({ config, overrides, folder }: StartRunParams, token) =>
      this.answering(async () =>
        service.plan(
          await readRecipe(config, overrides, folder ?? dirname(dirname(this.store))),
          cancelledBy(client, token),
        ),
      ),
    );
    connection.onRequest(InspectModelRequest, ({ folder }, token) =>
      this.answering(() => inspectModel(folder, cancelledBy(client, token))),
    );
    connection.onRequest(TestModelRequest, ({ folder, provider = DEFAULT_PROVIDER }, token) =>
      this.answering(() =>
        testModel(folder, provider, {
          signal: cancelledBy(client, token),
          onProgress: (progress) => {
            send(client, (to) => to.sendNotification(TestModelProgressNotification, { folder, progress }));
          },
        }),
      ),
    );
    connection.onRequest(ReplayRequest, (params, token) => this.answering(() => this.replay(client, params, token)));
    connection.onRequest(ReplayCostsRequest, (params) => this.answering(() => service.replayCosts(params)));
    connection.onRequest(VerifyCostsRequest, ({ message }) => this.answering(() => service.verifyCosts(message)));
    connection.onRequest(OfferKeysRequest, ({ keys }) =>
      this.answering(() => {
        service.endpoints.offer(keys);
        return null;
      }),
    );
    connection.onRequest(VerifyRequest, ({ message, again = false }, token) =>
      this.answering(() =>
        service.verifyMessage(message, {
          again,
          signal: cancelledBy(client, token),
          onProgress: (done, total) => {
            send(client, (to) => to.sendNotification(VerifyProgressNotification, { message, done, total }));
          },
        }),
      ),
    );
    connection.onRequest(ContextTokensRequest, ({ message }, token) =>
      this.answering(() => service.contextTokens(message, cancelledBy(client, token))),
    );
    connection.onRequest(TaxonomyRequest, (params) => this.answering(() => service.taxonomyView(params)));
    connection.onRequest(LabelRequest, (params, token) =>
      this.answering(() => service.label(params, cancelledBy(client, token))),
    );
    connection.onRequest(ImportLogRequest, (params, token) =>
      this.answering(() => service.importLog(params, cancelledBy(client, token))),
    );
    connection.onRequest(RecordRequest, ({ upstream, serve, ...params }, token) =>
      this.answering(() => {
        const signal = cancelledBy(client, token);
        const tell = (progress: RecordProgress): void => {
          send(client, (to) => to.sendNotification(RecordProgressNotification, progress));
        };
        const settings = {
          ...params,
          quiet: true,
          onLine: (line: string) => {
            tell({ line });
          },
          onMessage: (messages: number) => {
            tell({ messages });
          },
        };
        return serve === null
          ? record(service, { ...settings, upstream: upstreamOf(upstream), served: null }, signal)
          : whileServing(
              modelToServe(serve, params.folder),
              ({ url, ...served }) => record(service, { ...settings, upstream: url, served }, signal),
              { signal },
            );
      }),
    );
    connection.onRequest(UpdateStoreRequest, (token) =>
      this.answering(() => service.writing('update of the store', cancelledBy(client, token), () => null)),
    );
    connection.onRequest(DoctorRequest, () => this.answering(() => examine(this.store)));
    connection.onRequest(ShutdownRequest, () =>
      this.answering(() => {
        this.endSoon();
        return null;
      }),
    );
  }

  private async replay(client: Client, params: ReplayParams, token: CancellationToken): Promise<ReplayResult> {
    const signal = cancelledBy(client, token);
    const given = await this.service.replay(params, {
      signal,
      onProgress: (bucket, done, total) => {
        send(client, (to) =>
          to.sendNotification(ReplayProgressNotification, { message: params.message, bucket, done, total }),
        );
      },
      onRemark: (line) => {
        this.log.write(line);
      },
    });
    // The alternatives are on the screen already; what follows is the proof.
    return { ...given, ...(await this.service.proveBucket(given.id, signal)) };
  }

  /** Ends the engine once the answer is out; a client that sees the connection end takes that for the answer. */
  private endSoon(): void {
    setTimeout(() => {
      this.events.end();
    }, ANSWER_MILLISECONDS);
  }

  private waiting(words: string | null): void {
    if (words !== null) {
      this.log.write(words);
    }
    this.jobs.waiting(words);
    this.broadcast((to) => to.sendNotification(StoreWaitNotification, { words }));
  }

  /** Turns thrown errors into the two codes of the protocol. */
  private async answering<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    this.asked++;
    try {
      return await work();
    } catch (error) {
      if (error instanceof CancelledError) {
        throw new ResponseError(CANCELLED_CODE, error.message);
      }
      const data = failureData(error);
      this.log.write(
        error instanceof C3Error
          ? `${data.kind}: ${error.message}`
          : error instanceof Error
            ? (error.stack ?? error.message)
            : messageOf(error),
      );
      throw new ResponseError(FAILED_CODE, messageOf(error), data);
    } finally {
      this.asked--;
      this.events.changed();
    }
  }

  /** To everybody who has introduced themselves. */
  private broadcast(notify: Notify): void {
    for (const client of this.clients) {
      if (client.kind !== null) {
        send(client, notify);
      }
    }
  }
}

type Notify = (connection: MessageConnection) => Promise<void>;

const asker = ({ kind }: Client): ClientKind => kind ?? 'window';

/** Aborts when a client cancels its request, or goes. */
function cancelledBy(client: Client, token: CancellationToken): AbortSignal {
  const asked = new AbortController();
  if (token.isCancellationRequested) {
    // A token that was cancelled before the request was read never says so.
    asked.abort();
  } else {
    token.onCancellationRequested(() => {
      asked.abort();
    });
  }
  return anyOf(client.gone.signal, asked.signal);
}

/** One that is gone need not know, and the work is not failed by that. */
function send(client: Client, notify: Notify): void {
  if (!client.gone.signal.aborted) {
    notify(client.connection).catch(() => undefined);
  }
}
