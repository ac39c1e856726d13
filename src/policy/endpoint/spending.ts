/**
 * Counts the cost of an endpoint, and limits it before it is spent. Each request reserves the most
 * that it can cost. If that exceeds the limit, the request waits until pending ones are counted,
 * and is refused if none is pending.
 */

import { NO_SERVER_COST, NOTHING_SPENT, type ServerCost, type SpentSoFar } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';

/** Prices per million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
}

/** The most that may be spent. Null means no limit. */
export interface SpendingLimit {
  readonly tokens: number | null;
  readonly money: number | null;
}

export interface TokenCount {
  readonly prompt: number;
  readonly completion: number;
}

/** The most that a pending request can cost, with the prices of its server. */
interface Reservation extends TokenCount {
  readonly prices: Prices;
}

/** The tolerance for rounding errors of sums. No price is this small. */
const ROUNDING = 1e-9;

/** Returns the price of tokens. */
export const computePrice = ({ prompt, completion }: TokenCount, { input, output }: Prices): number =>
  (prompt * input + completion * output) / 1e6;

/** Prices of 0 mean that no price is known. */
export const isPriceKnown = ({ input, output }: Prices): boolean => input > 0 || output > 0;

/** Returns the money spent so far. @param prices of tokens whose price was not known */
export const computeSpentMoney = ({ money, unpriced }: SpentSoFar, prices: Prices): number =>
  money + computePrice(unpriced, prices);

const addTokens = (one: TokenCount, other: TokenCount): TokenCount => ({
  prompt: one.prompt + other.prompt,
  completion: one.completion + other.completion,
});

export class Spending {
  private limit: SpendingLimit;
  private readonly onSpent: (cost: ServerCost) => void;
  private readonly reserved = new Set<Reservation>();
  private waiting: (() => void)[] = [];
  /** The amounts spent so far. */
  spent = NOTHING_SPENT;

  /** @param onSpent receives the cost of each request when it is counted */
  constructor(limit: SpendingLimit, onSpent: (cost: ServerCost) => void = () => undefined) {
    this.limit = limit;
    this.onSpent = onSpent;
  }

  /** Continues with earlier amounts under a limit. Pending requests stay reserved. */
  continueFrom(spent: SpentSoFar, limit: SpendingLimit): void {
    this.spent = spent;
    this.limit = limit;
  }

  /**
   * Reserves the most that a request can cost.
   * @param prices of its server
   * @throws C3Error('budget') if the limit is too low for it and no request is pending
   */
  async reserve(most: TokenCount, prices: Prices): Promise<Reservation> {
    const reservation = { ...most, prices };
    while (!this.fits([...this.reserved, reservation], prices)) {
      if (this.reserved.size === 0) {
        throw new C3Error('budget', this.refusal(reservation));
      }
      const { promise, resolve } = Promise.withResolvers<null>();
      this.waiting.push(() => resolve(null));
      await promise;
    }
    this.reserved.add(reservation);
    return reservation;
  }

  /**
   * Replaces a reservation by the real cost.
   * @param used null for nothing
   */
  charge(reservation: Reservation, used: TokenCount | null): ServerCost {
    this.reserved.delete(reservation);
    const waiting = this.waiting;
    this.waiting = [];
    if (used === null) {
      waiting.forEach((wake) => wake());
      return NO_SERVER_COST;
    }
    const { prices } = reservation;
    const cost = { ...used, money: isPriceKnown(prices) ? computePrice(used, prices) : null };
    const { calls, money, unpriced } = this.spent;
    this.spent = {
      calls: calls + 1,
      ...addTokens(this.spent, used),
      money: money + (cost.money ?? 0),
      unpriced: cost.money === null ? addTokens(unpriced, used) : unpriced,
    };
    this.onSpent(cost);
    waiting.forEach((wake) => wake());
    return cost;
  }

  private fits(pending: readonly Reservation[], prices: Prices): boolean {
    const all = pending.reduce<TokenCount>(addTokens, this.spent);
    const price = pending.reduce((sum, one) => sum + computePrice(one, one.prices), 0);
    const { tokens, money } = this.limit;
    return (
      (tokens === null || all.prompt + all.completion <= tokens) &&
      (money === null || computeSpentMoney(this.spent, prices) + price <= money + ROUNDING)
    );
  }

  private refusal({ prices, ...most }: Reservation): string {
    const { prompt, completion } = this.spent;
    const money = computeSpentMoney(this.spent, prices);
    const limits = [
      ...(this.limit.tokens === null ? [] : [`${this.limit.tokens} tokens`]),
      ...(this.limit.money === null ? [] : [String(this.limit.money)]),
    ];
    return `The spending limit of ${limits.join(' and ')} is too low for another request of at most ${most.prompt + most.completion} tokens: ${prompt + completion} tokens (${Number(money.toFixed(6))}) are spent; raise it, or ask for less.`;
  }
}
