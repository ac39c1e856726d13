/** Starts, follows and cancels the replays of a transcript panel. */

import { CancellationTokenSource } from 'vscode';
import { AS_RECORDED, type ReplayResult } from '../../domain/replay.ts';
import { asksServers } from '../../domain/run.ts';
import { type EndpointCost, sumCostsByRole } from '../../shared/endpointCost.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import type { ReplayParams } from '../../shared/protocols/engineProtocol.ts';
import type { ReplayState, TranscriptToHost } from '../../shared/protocols/transcriptProtocol.ts';
import type { Disposable } from '../common/disposables.ts';
import { readSpendingLimit } from '../common/settings.ts';
import type { Services } from '../services.ts';
import { confirmCosts } from '../webview/confirmCosts.ts';
import { RecordedTeam } from './recordedTeam.ts';
import { confirmReplayModel } from './replayModel.ts';

/** The team that continues a recorded message, and its spending limit. */
type RecordedChoice = Pick<ReplayParams, 'team' | 'spending'>;

/** Runs several replays and shows their progress. */
type ShowProgress = (
  work: (begins: (number: number, message: number) => void) => Promise<boolean>,
) => PromiseLike<boolean>;

export class PanelReplay implements Disposable {
  private readonly services: Pick<Services, 'engine' | 'log' | 'store' | 'modelFolders' | 'programs'>;
  private readonly changed: (state: ReplayState) => void;
  private readonly watching: Disposable;
  private readonly team: RecordedTeam;
  private current: ReplayState | null = null;
  private cancellation: CancellationTokenSource | null = null;

  /** @param changed called with each new state of the replay */
  constructor(
    services: Pick<Services, 'engine' | 'log' | 'store' | 'modelFolders' | 'programs'>,
    changed: (state: ReplayState) => void,
  ) {
    this.services = services;
    this.changed = changed;
    this.team = new RecordedTeam(services);
    this.watching = services.engine.onReplayProgress(({ message, bucket, done, total }) => {
      if (this.current?.status === 'running' && message === this.current.message) {
        this.set({ ...this.current, bucket, done, total });
      }
    });
  }

  /** The state of the replay in progress or the last one, or null before the first. */
  get state(): ReplayState | null {
    return this.current;
  }

  /** Starts a replay for the page. A model that the user did not choose must be confirmed first. */
  async request({
    message,
    alternatives,
    replays,
    text,
    independent,
    continuation,
  }: Extract<TranscriptToHost, { type: 'replay' }>): Promise<void> {
    const { model } = continuation;
    const { modelFolders } = this.services;
    if (model === null || modelFolders.wasChosen(model) || (await confirmReplayModel(model, modelFolders))) {
      await this.begin({ message, alternatives, replays, text, independent, continuation });
    }
  }

  /** Starts a replay. For a message that was recorded elsewhere, asks for its team file. */
  async begin(params: ReplayParams): Promise<void> {
    const recorded = await this.team.of(params.message);
    if (recorded !== null) {
      await this.start([{ ...params, ...recorded }]);
    }
  }

  /**
   * Asks for the team that continues a recorded message, and for consent to the maximum cost of its
   * servers. Returns null if the user canceled.
   * @param costsOf returns the maximum cost of a team
   */
  async agreedTeam(
    message: number,
    costsOf: (team: RecordedChoice) => Promise<readonly EndpointCost[]>,
  ): Promise<RecordedChoice | null> {
    const named = await this.team.of(message);
    const recorded = named === null ? null : { ...named, ...readSpendingLimit() };
    return recorded !== null && (await confirmReplayCosts(await costsOf(recorded))) ? recorded : null;
  }

  /**
   * Runs replays one after another, unless one is in progress. If servers answer for the run, the user
   * must first agree to the cost.
   * @returns true if all were done
   * @throws if there is no engine
   */
  private async start(
    all: readonly ReplayParams[],
    around: ShowProgress = (work) => work(() => undefined),
  ): Promise<boolean> {
    const [first] = all;
    if (first === undefined || this.current?.status === 'running') {
      return first === undefined;
    }
    const client = this.services.engine.client();
    const wanted = all.map((params) => ({ ...params, ...readSpendingLimit() }));
    const reader = this.services.store.reader();
    const asks =
      first.team !== undefined || (reader !== null && asksServers(reader.runConfig(reader.message(first.message).run)));
    try {
      if (asks && !(await confirmReplayCosts(await sumReplayCosts(wanted, (params) => client.replayCosts(params))))) {
        return false;
      }
    } catch (error) {
      this.services.log.error(toErrorMessage(error));
      this.set({ ...createInitialState(first), status: 'failed', error: toErrorMessage(error) });
      return false;
    }
    return await around(async (begins) => {
      for (const [index, params] of wanted.entries()) {
        begins(index + 1, params.message);
        if (this.isRunning || !(await this.replay(client, params))) {
          return false;
        }
      }
      return true;
    });
  }

  /** A getter, so that each check after an await sees a replay that began meanwhile. */
  private get isRunning(): boolean {
    return this.current?.status === 'running';
  }

  /** Runs one replay. @returns true if it was done and not canceled */
  private async replay(client: ReturnType<Services['engine']['client']>, params: ReplayParams): Promise<boolean> {
    const cancellation = new CancellationTokenSource();
    this.cancellation = cancellation;
    this.set(createInitialState(params));
    try {
      const bucket = await client.replay(params, cancellation.token);
      // A replay that is canceled during the verification still returns all its results.
      const isCancelled = cancellation.token.isCancellationRequested;
      this.end(isCancelled ? 'cancelled' : 'done', bucket, null);
      return !isCancelled;
    } catch (error) {
      if (error instanceof CancelledError) {
        this.end('cancelled', null, null);
      } else {
        this.services.log.error(toErrorMessage(error));
        this.end('failed', null, toErrorMessage(error));
      }
      return false;
    }
  }

  /** Replays a message in pairs until its credit is decided or the replays are used up. */
  settle(message: number, replays: number): Promise<void> {
    return this.begin(createSettleParams(message, replays));
  }

  /**
   * Settles the credit of several messages of one run, each with at most `replays` replays.
   * @param around receives the work and shows its progress: the work announces each message
   * @returns false if a replay failed or the user canceled
   */
  async settleEach(messages: readonly number[], replays: number, around: ShowProgress): Promise<boolean> {
    const [first] = messages;
    const recorded = first === undefined ? {} : await this.team.of(first);
    return (
      recorded !== null &&
      this.start(
        messages.map((message) => ({ ...createSettleParams(message, replays), ...recorded })),
        around,
      )
    );
  }

  /** Continues a recorded message with another result of the tool that it called. */
  withResult({ message, replays, result }: Extract<TranscriptToHost, { type: 'replayResult' }>): Promise<void> {
    return this.begin({ message, alternatives: 0, replays, text: null, result, continuation: AS_RECORDED });
  }

  /** Cancels the replay in progress. Its results so far are kept. */
  cancel(): void {
    this.cancellation?.cancel();
  }

  dispose(): void {
    this.cancel();
    this.watching.dispose();
  }

  private end(status: 'done' | 'cancelled' | 'failed', bucket: ReplayResult | null, error: string | null): void {
    this.cancellation?.dispose();
    this.cancellation = null;
    if (this.current === null) {
      return;
    }
    const { settle } = this.current;
    const spent = settle === null ? null : { ...settle, spent: bucket?.spent ?? null };
    this.set({ ...this.current, status, bucket: bucket ?? this.current.bucket, error, settle: spent });
    this.services.store.touch();
  }

  private set(state: ReplayState): void {
    this.current = state;
    this.changed(state);
  }
}

const createSettleParams = (message: number, replays: number): ReplayParams => ({
  message,
  alternatives: 0,
  replays: 1,
  text: null,
  independent: false,
  continuation: AS_RECORDED,
  settle: { replays },
});

/** Returns the initial state of a replay. */
function createInitialState({ message, settle }: ReplayParams): ReplayState {
  return {
    message,
    status: 'running',
    bucket: null,
    done: 0,
    total: 0,
    error: null,
    settle: settle === undefined ? null : { most: settle.replays, spent: null },
  };
}

// Consent to the cost of servers, before a replay begins

/** Asks for consent to the cost of replays, if there is any. */
const confirmReplayCosts = (costs: readonly EndpointCost[]): Promise<boolean> =>
  confirmCosts(costs, 'Replay with the help of servers?', 'Replay');

/**
 * Returns the maximum cost of several replays together, by role. @param costsOf returns that of one
 * replay
 */
async function sumReplayCosts<Params>(
  all: readonly Params[],
  costsOf: (params: Params) => Promise<readonly EndpointCost[]>,
): Promise<readonly EndpointCost[]> {
  const costs = (await Promise.all(all.map(costsOf))).flat();
  return sumCostsByRole(costs);
}
