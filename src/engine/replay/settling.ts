/** Turns requests to settle a credit into pairs of replays that stop once the credit is decided. */

import type { Message } from '../../domain/message.ts';
import {
  countAffordablePairs,
  settleFault,
  settleReplays,
  type BucketView,
  type ReplayResult,
  type Settle,
} from '../../domain/replay.ts';
import type { ReplayRequest } from '../../replay/request.ts';
import { isDecided, describeHeadline, type Headline } from '../../shared/credit/headline.ts';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import type { ReplayParams } from '../../shared/protocols/engineProtocol.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';

/** A replay request of the editor or the command line. */
export type EngineReplay = ReplayRequest & {
  readonly settle?: Settle;
  /** Spending limit of the run and its replays at each server, which replaces the configured limit. */
  readonly spending?: SpendingChoice;
} & Pick<ReplayParams, 'team' | 'teamHash'>;

/** @throws C3Error('input') if the request cannot settle a credit */
export function checkSettle(request: EngineReplay): void {
  const fault = settleFault(request);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
}

/**
 * Converts a settling request to a request for pairs. Returns any other request unchanged.
 * @param own true if the message continues under its own settings
 * @throws C3Error('input') if the message's own credit is decided already
 */
export function toPairRequest(
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
      `The credit of message ${message.id} is already settled: it ${describeHeadline(message.credit)}. Replay its alternatives to add more.`,
    );
  }
  return {
    ...request,
    design: 'paired',
    alternatives: countAffordablePairs(settle.replays, isTerminal(protocol, message.position)),
    replays: 1,
  };
}

/** Returns true if the credit of a request's message is decided in its bucket. */
export function isDecidedIn(bucket: BucketView): boolean {
  const headline = findHeadline(bucket);
  return headline !== null && isDecided(headline);
}

/** Describes the result of settling in one line. @param most number of replays that were allowed */
export function describeSettling({ spent = 0, ...bucket }: ReplayResult, most: number): string {
  const headline = findHeadline(bucket);
  const said = headline === null ? 'its credit is not measured' : describeHeadline(headline);
  return `Spent ${spent} of at most ${most} replays: ${said}.`;
}

/** Returns the default number of replays to settle a message: the number that its headline expects. */
export const countDefaultReplays = (message: Message): number => settleReplays(message.credit?.more ?? null);

const findHeadline = ({ alternatives }: Pick<BucketView, 'alternatives'>): Headline | null =>
  alternatives.find(({ original }) => original)?.credit ?? null;
