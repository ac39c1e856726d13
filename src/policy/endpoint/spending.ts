/**
 * Counts the cost of an endpoint, and limits it before it is spent. Each request reserves the most
 * that it can cost. If that exceeds the limit, the request waits until pending ones are counted,
 * and is refused if none is pending.
 */

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

/** The amounts spent so far. */
export interface Spent extends TokenCount {
  readonly calls: number;
  readonly money: number;
}

/** The tolerance for rounding errors of sums. No price is this small. */
const ROUNDING = 1e-9;

/** Returns the price of tokens. */
export const computePrice = ({ prompt, completion }: TokenCount, { input, output }: Prices): number =>
  (prompt * input + completion * output) / 1e6;

export class Spending {
  private limit: SpendingLimit;
  private readonly prices: Prices;
  private readonly onSpent: (used: TokenCount) => void;
  private spentTokens: TokenCount = { prompt: 0, completion: 0 };
  private calls = 0;
  private readonly reserved = new Set<TokenCount>();
  private waiting: (() => void)[] = [];

  /** @param onSpent receives the cost of each request when it is counted */
  constructor(limit: SpendingLimit, prices: Prices, onSpent: (used: TokenCount) => void = () => undefined) {
    this.limit = limit;
    this.prices = prices;
    this.onSpent = onSpent;
  }

  /** Continues with earlier amounts under a limit. Pending requests stay reserved. */
  continueFrom({ calls, prompt, completion }: Omit<Spent, 'money'>, limit: SpendingLimit): void {
    this.spentTokens = { prompt, completion };
    this.calls = calls;
    this.limit = limit;
  }

  get spent(): Spent {
    return { ...this.spentTokens, calls: this.calls, money: computePrice(this.spentTokens, this.prices) };
  }

  /**
   * Reserves the most that a request can cost.
   * @throws C3Error('budget') if the limit is too low for it and no request is pending
   */
  async reserve(most: TokenCount): Promise<TokenCount> {
    const reservation = { ...most };
    while (!this.fits([this.spentTokens, ...this.reserved, reservation])) {
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
  charge(reservation: TokenCount, used: TokenCount | null): void {
    this.reserved.delete(reservation);
    if (used !== null) {
      const { prompt, completion } = this.spentTokens;
      this.spentTokens = { prompt: prompt + used.prompt, completion: completion + used.completion };
      this.calls++;
      this.onSpent(used);
    }
    const waiting = this.waiting;
    this.waiting = [];
    for (const wake of waiting) {
      wake();
    }
  }

  private fits(counts: readonly TokenCount[]): boolean {
    const prompt = counts.reduce((total, one) => total + one.prompt, 0);
    const completion = counts.reduce((total, one) => total + one.completion, 0);
    const { tokens, money } = this.limit;
    return (
      (tokens === null || prompt + completion <= tokens) &&
      (money === null || computePrice({ prompt, completion }, this.prices) <= money + ROUNDING)
    );
  }

  private refusal(most: TokenCount): string {
    const { prompt, completion, money } = this.spent;
    const limits = [
      ...(this.limit.tokens === null ? [] : [`${this.limit.tokens} tokens`]),
      ...(this.limit.money === null ? [] : [String(this.limit.money)]),
    ];
    return `The spending limit of ${limits.join(' and ')} is too low for another request of at most ${most.prompt + most.completion} tokens: ${prompt + completion} tokens (${Number(money.toFixed(6))}) are spent; raise it, or ask for less.`;
  }
}
