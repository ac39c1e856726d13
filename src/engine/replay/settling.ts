/** From a request to settle a credit to pairs of replays that stop once it is decided. */
import type { Message } from '../../domain/message.ts';
import {
  pairsOf,
  settleFault,
  settleReplays,
  type BucketView,
  type ReplayResult,
  type Settle,
} from '../../domain/replay.ts';
import type { ReplayRequest } from '../../replay/request.ts';
import { isDecided, sentence, type Headline } from '../../shared/credit/headline.ts';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import type { ReplayParams } from '../../shared/protocols/engineProtocol.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';

/** A replay request as both doors of the engine take it. */
export type EngineReplay = ReplayRequest & {
  readonly settle?: Settle;
  /** The most that the run and its replays may spend at each server, in the place of what the configuration says. */
  readonly spending?: SpendingChoice;
} & Pick<ReplayParams, 'team' | 'teamHash'>;

/** @throws C3Error('input') where a credit cannot be settled so */
export function checkSettle(request: EngineReplay): void {
  const fault = settleFault(request);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
}

/**
 * The pairs of a settling request; any other request is returned unchanged.
 * @throws C3Error('input') where the message's own credit is decided already
 */
export function withPairs(
  store: StoreReader,
  { settle, ...request }: EngineReplay,
  own: boolean,
  protocol: Protocol,
): ReplayRequest {
  if (settle === undefined) {
    return request;
  }
  const message = store.message(request.message);
  if (own && message.credit !== null && isDecided(message.credit)) {
    throw new C3Error(
      'input',
      `The credit of message ${message.id} is already settled: it ${sentence(message.credit)}. Replay its alternatives to add more.`,
    );
  }
  return {
    ...request,
    design: 'paired',
    alternatives: pairsOf(settle.replays, isTerminal(protocol, message.position)),
    replays: 1,
  };
}

/** Whether the credit of a request's message is decided in the pool of its bucket. */
export function decidedIn(bucket: BucketView): boolean {
  const headline = headlineOf(bucket);
  return headline !== null && isDecided(headline);
}

/** What settling came to, in one line. @param most replays that were allowed */
export function settledWords({ spent = 0, ...bucket }: ReplayResult, most: number): string {
  const headline = headlineOf(bucket);
  const said = headline === null ? 'its credit is not measured' : sentence(headline);
  return `Spent ${spent} of at most ${most} replays: ${said}.`;
}

/** What settling a message may spend unless it is said: what its headline expects. */
export const defaultReplays = (message: Message): number => settleReplays(message.credit?.more ?? null);

const headlineOf = ({ alternatives }: Pick<BucketView, 'alternatives'>): Headline | null =>
  alternatives.find(({ original }) => original)?.credit ?? null;
