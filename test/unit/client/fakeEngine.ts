/**
 * An engine that speaks the protocol and does no work: what the extension's client is tested against. The config's name
 * says what to do.
 */

import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { ResponseError, type CancellationToken, type MessageConnection } from 'vscode-jsonrpc/node';
import { engineAddresses } from '../../../src/client/address.ts';
import type { BucketView } from '../../../src/domain/replay.ts';
import { VERDICTS } from '../../../src/domain/taxonomy.ts';
import type { SelfTestProgress, SelfTestStep } from '../../../src/shared/models.ts';
import {
  CANCELLED_CODE,
  FAILED_CODE,
  InitializeRequest,
  PROTOCOL_VERSION,
  ReplayProgressNotification,
  REQUESTS,
  RunProgressNotification,
  ShutdownRequest,
  TestModelProgressNotification,
  VerifyProgressNotification,
  YieldRequest,
} from '../../../src/shared/protocols/engineProtocol.ts';
import type { RunJob, RunProgress } from '../../../src/shared/protocols/jobs.ts';
import { createSocketConnection } from '../../../src/shared/protocols/socketConnection.ts';
import { modelFacts, runPlan } from '../extension/model/modelFixture.ts';

const store = process.argv[3] ?? '';
/** Set by a test that plays another engine: `PROTOCOL VERSION`, and `busy` or `refuses`. */
const [protocol = String(PROTOCOL_VERSION), version = '1.2.3', does = ''] = (process.env['C3_FAKE_ENGINE'] ?? '')
  .split(' ')
  .filter((word) => word !== '');
/** Milliseconds: many times what a client takes to ask again. */
const ENDS_AFTER = 300;
const finishedJob = (run: string): RunJob => ({
  id: 'job-1',
  kind: 'start',
  state: 'queued',
  run,
  title: 'Fake',
  askedBy: 'window',
  askedAt: '',
  startedAt: null,
  finishedAt: null,
  waitingFor: null,
  progress: null,
  meanReturn: null,
  outcome: null,
});

function serve(connection: MessageConnection): void {
  connection.onRequest(InitializeRequest, () => {
    if (does === 'refuses') {
      throw new ResponseError(FAILED_CODE, 'This engine serves the store /another, not yours.', { kind: 'engine' });
    }
    const job: RunJob = { ...finishedJob('r'), state: 'running', title: 'Going on' };
    return {
      version,
      protocol: Number(protocol),
      pid: process.pid,
      log: [`engine log for ${store}`],
      list: { jobs: does === '' ? [] : [job], unstarted: [] },
    };
  });
  connection.onRequest(YieldRequest, () => {
    if (does === '') {
      // An engine gives back what it holds first: a client that asks again meanwhile gets the same answer.
      setTimeout(() => process.exit(0), ENDS_AFTER);
    }
    return { ending: does === '' };
  });
  connection.onRequest(REQUESTS.cancelRun, ({ job }) => ({ cancelled: job === 'r' ? 'running' : null }));
  connection.onRequest(REQUESTS.startRun, async ({ config }) => {
    if (config === 'crash') {
      process.exit(3);
    }
    if (config === 'wrong') {
      throw new ResponseError(FAILED_CODE, 'wrong.c3.yaml: line 2: unknown key "stepz": did you mean "steps"?', {
        kind: 'input',
      });
    }
    for (let done = 0; done < 3; done++) {
      const progress: RunProgress = {
        run: 'r',
        stage: 'train',
        done,
        total: 3,
        metrics: null,
        remainingSeconds: null,
        message: 'step',
      };
      await connection.sendNotification(RunProgressNotification, progress);
    }
    return finishedJob('r');
  });
  connection.onRequest(REQUESTS.resumeRun, ({ run }) => {
    if (run === 'changed') {
      throw new ResponseError(FAILED_CODE, 'Run changed cannot be resumed: the training problems have changed.', {
        kind: 'input',
      });
    }
    return { ...finishedJob(run), kind: 'resume' };
  });
  connection.onRequest(REQUESTS.replay, async ({ message, alternatives }, token) => {
    const bucket: BucketView = {
      id: 1,
      run: 'r',
      origin: 'request',
      iteration: 1,
      problem: 'i',
      role: 'actor',
      turn: 0,
      contextKey: '5',
      snapshot: 's',
      message,
      alternatives: [],
      continuation: null,
    };
    for (let done = 1; done <= alternatives; done++) {
      await connection.sendNotification(ReplayProgressNotification, { message, bucket, done, total: alternatives });
    }
    return alternatives === 0 ? cancelled(token) : bucket;
  });

  connection.onRequest(REQUESTS.verify, async ({ message }) => {
    for (let done = 1; done <= 2; done++) {
      await connection.sendNotification(VerifyProgressNotification, { message, done, total: 2 });
    }
    return { checked: 2, identical: 2, different: 0, notComparable: 0, firstDifference: null, firstReason: null };
  });

  connection.onRequest(REQUESTS.taxonomy, ({ run, thresholds }) => ({
    run,
    buckets: 0,
    thresholds,
    counts: VERDICTS.map((name) => ({ name, count: 0, published: 0, chance: { value: 0, low: 0, high: 0, n: 39 } })),
    leftOut: { requested: 0, otherDistribution: 0 },
    unmeasured: { alone: 0, classes: [] },
    changed: 0,
    roles: [],
    agreement: { n: 0, agreed: 0, kappa: null, standardError: null, reason: 'fewer than two cases', ownWords: 0 },
    detectors: [],
    episodes: 0,
    matching: 0,
    rows: [],
  }));
  connection.onRequest(REQUESTS.label, ({ name, note }) => ({ name, note, author: 'you', createdAt: '2026-01-01' }));
  connection.onRequest(REQUESTS.inspectModel, ({ folder }) => {
    if (folder === 'broken') {
      throw new ResponseError(FAILED_CODE, 'broken/config.json: is no JSON.', { kind: 'model' });
    }
    return modelFacts(folder);
  });

  connection.onRequest(REQUESTS.plan, ({ overrides }) => runPlan(overrides));

  connection.onRequest(REQUESTS.testModel, async ({ folder }, token) => {
    if (folder === 'endless') {
      return cancelled(token);
    }
    const steps: readonly SelfTestStep[] = ['Files', 'Loading'].map((name) => ({
      name,
      passed: true,
      seconds: 0.5,
      detail: '',
    }));
    const [files, loading] = steps.map((step): SelfTestProgress => ({ kind: 'step', step }));
    for (const progress of [files, { kind: 'load', done: 5, total: 10 } as const, loading]) {
      if (progress !== undefined) {
        await connection.sendNotification(TestModelProgressNotification, { folder, progress });
      }
    }
    return steps;
  });

  connection.onRequest(REQUESTS.doctor, () => ({
    providers: [{ name: 'cpu', available: true, selfTest: 'passed', batchInvariance: null, device: null }],
    versions: { node: process.versions.node },
    store: { path: store, state: 'absent', findings: [], extent: '' },
  }));
  connection.onRequest(ShutdownRequest, () => {
    setImmediate(() => process.exit(0));
    return null;
  });
  connection.listen();
}

// Never longer than any test.
setTimeout(() => process.exit(0), 60_000);
const [address] = engineAddresses(store, true);
if (address === undefined) {
  process.exit(1);
}
rmSync(address.socket, { force: true });
createServer((socket) => {
  socket.on('error', () => undefined);
  serve(createSocketConnection(socket));
}).listen(address.socket);

function cancelled(token: CancellationToken): Promise<never> {
  // A request that was cancelled before it was read says so at once and never again.
  if (token.isCancellationRequested) {
    return Promise.reject(new ResponseError(CANCELLED_CODE, 'Cancelled.'));
  }
  return new Promise((_, reject) => {
    token.onCancellationRequested(() => reject(new ResponseError(CANCELLED_CODE, 'Cancelled.')));
  });
}
