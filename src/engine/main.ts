/** The engine process behind the extension: JSON-RPC on standard input and output, its log on standard error. */
import { Console } from 'node:console';
import { dirname } from 'node:path';
import { createMessageConnection, ResponseError, StreamMessageReader, StreamMessageWriter, type CancellationToken } from 'vscode-jsonrpc/node';
import {
  CANCELLED_CODE,
  ContextTokensRequest,
  DoctorRequest,
  FAILED_CODE,
  InitializeRequest,
  InspectModelRequest,
  LabelRequest,
  PlanRequest,
  ReplayProgressNotification,
  ReplayRequest,
  ResumeRunRequest,
  RunProgressNotification,
  ShutdownRequest,
  StartRunRequest,
  TaxonomyRequest,
  TestModelProgressNotification,
  TestModelRequest,
  UpdateStoreRequest,
  VerifyProgressNotification,
  VerifyRequest,
  type StartRunParams,
} from '../shared/engineProtocol.ts';
import { C3Error, CancelledError, failureData, messageOf } from '../shared/errors.ts';
import type { RunControl } from '../training/run.ts';
import { examine } from './doctor.ts';
import { inspectModel } from './modelFacts.ts';
import { testModel } from './modelTest.ts';
import { readRecipe, type Recipe } from './recipe.ts';
import { EngineService } from './service.ts';
import { VERSION } from './version.ts';

const log = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

// The protocol owns standard output; whatever a library prints goes to the log.
globalThis.console = new Console(process.stderr, process.stderr);
const connection = createMessageConnection(new StreamMessageReader(process.stdin), new StreamMessageWriter(process.stdout));
let service: EngineService | undefined;

function current(): EngineService {
  if (service === undefined) throw new C3Error('engine', 'The engine was asked before it was initialized; send initialize first.');
  return service;
}

/** Turns thrown errors into the two codes of the protocol. */
async function answering<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CancelledError) throw new ResponseError(CANCELLED_CODE, error.message);
    const data = failureData(error);
    log(error instanceof C3Error ? `${data.kind}: ${error.message}` : error instanceof Error ? (error.stack ?? error.message) : messageOf(error));
    throw new ResponseError(FAILED_CODE, messageOf(error), data);
  }
}

/** Tells the editor how far the work is. One that is gone need not know, and its work is not failed by that. */
async function tell(send: () => Promise<void>): Promise<void> {
  try {
    await send();
  } catch {
    // The end of the connection is noticed by onClose.
  }
}

const cancelledBy = (token: CancellationToken) => (): boolean => token.isCancellationRequested;

connection.onRequest(InitializeRequest, ({ store }) =>
  answering(async () => {
    await service?.close();
    service = new EngineService(store, { onWaiting: (words) => { if (words !== null) log(words); } });
    return { version: VERSION };
  }),
);

const runControl = (token: CancellationToken): RunControl => ({
  cancelled: cancelledBy(token),
  onProgress: (progress) => {
    void tell(() => connection.sendNotification(RunProgressNotification, progress));
  },
});

/** What a run would be made of; paths are relative to the configuration, or to the workspace. */
const recipeOf = ({ config, overrides }: StartRunParams): Promise<Recipe> => readRecipe(config, overrides, dirname(dirname(current().storePath)));

connection.onRequest(StartRunRequest, (params, token) => answering(async () => current().run(await recipeOf(params), runControl(token), log)));
connection.onRequest(PlanRequest, (params) => answering(async () => current().plan(await recipeOf(params))));
connection.onRequest(InspectModelRequest, ({ folder }) => answering(() => inspectModel(folder)));
connection.onRequest(TestModelRequest, ({ folder, provider = 'cpu' }, token) =>
  answering(() =>
    testModel(folder, provider, {
      cancelled: cancelledBy(token),
      onProgress: (progress) => {
        void tell(() => connection.sendNotification(TestModelProgressNotification, { folder, progress }));
      },
    }),
  ),
);

connection.onRequest(ResumeRunRequest, ({ run }, token) => answering(() => current().resume(run, runControl(token), log)));

connection.onRequest(ReplayRequest, (params, token) =>
  answering(async () => {
    const engine = current();
    const cancelled = cancelledBy(token);
    const given = await engine.replay(params, {
      cancelled,
      onProgress: (bucket, done, total) => {
        void tell(() => connection.sendNotification(ReplayProgressNotification, { message: params.message, bucket, done, total }));
      },
      onRemark: log,
    });
    // The alternatives are on the screen already; what follows is the proof.
    return { ...given, ...(await engine.proveBucket(given.id, cancelled)) };
  }),
);

connection.onRequest(VerifyRequest, ({ message }, token) =>
  answering(() =>
    current().verifyMessage(message, {
      cancelled: cancelledBy(token),
      onProgress: (done, total) => {
        void tell(() => connection.sendNotification(VerifyProgressNotification, { message, done, total }));
      },
    }),
  ),
);

connection.onRequest(ContextTokensRequest, ({ message }) => answering(() => current().contextTokens(message)));
connection.onRequest(TaxonomyRequest, (params) => answering(() => current().taxonomyView(params)));
connection.onRequest(LabelRequest, (params, token) => answering(() => current().label(params, cancelledBy(token))));
connection.onRequest(UpdateStoreRequest, (token) => answering(() => current().writing('update of the store', cancelledBy(token), () => null)));
connection.onRequest(DoctorRequest, () => answering(() => examine(current().storePath)));
connection.onRequest(ShutdownRequest, () =>
  answering(async () => {
    await service?.close();
    // Once the answer is out nothing keeps the process; should anything do so all the same, it ends a moment later.
    process.stdin.unref();
    setTimeout(() => process.exit(0), 1000).unref();
    return null;
  }),
);

// The editor is gone: nothing is left to do.
connection.onClose(() => {
  void (service?.close() ?? Promise.resolve()).finally(() => process.exit(0));
});
connection.listen();
log(`c3 engine ${VERSION}, process ${String(process.pid)}`);
