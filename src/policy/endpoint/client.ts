/** Asks an endpoint until it answers, with several addresses, limits, retries and spending. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Stream, streamKey } from '../../runtime/random.ts';
import type { ServerCost } from '../../shared/endpointCost.ts';
import { C3Error, CancelledError, type ErrorAction } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { Addresses, type Rests } from './addresses.ts';
import { exchange, type Exchange } from './exchange.ts';
import { EndpointFailure, quoteServer, Unanswered } from './failure.ts';
import { NO_LONG_WAITS, type LongWaits } from './longWaits.ts';
import type { Reply } from './reply.ts';
import type { Prices, Spending, TokenCount } from './spending.ts';

export interface ClientSettings {
  readonly bases: readonly string[];
  readonly api: EndpointApi;
  /** Returns the key of an address, or null if it needs none. */
  readonly keyOf: (base: string) => string | null;
  readonly concurrency: number;
  readonly perMinute: number | null;
  /** Attempts after the first. */
  readonly retries: number;
  /** Milliseconds for one attempt. */
  readonly timeLimit: number;
  readonly spending: Spending;
  /** Prices of this server, of the tokens that it counts. */
  readonly prices: Prices;
  /** The name that earlier replies gave the model, or null. */
  readonly servedAs?: string | null;
  /** Decides about long waits. Default: all are refused. */
  readonly waits?: LongWaits;
  /** Milliseconds between attempts. Default: `RESTS`. */
  readonly rests?: Rests;
  /** Sends one request to one address, with the errors of `exchange`. Default: over HTTP. */
  readonly exchange?: (request: Exchange, signal: AbortSignal) => Promise<Reply>;
}

export interface AskControl {
  readonly signal: AbortSignal;
  /** True to fail at once if nothing listens at any address. */
  readonly firstRefusal?: boolean;
  /** Receives the cost of each attempt. */
  readonly onCharge?: ((cost: ServerCost) => void) | undefined;
}

const RESTS: Rests = { first: 500, most: 30_000 };

export class EndpointClient {
  private readonly settings: ClientSettings;
  private readonly addresses: Addresses;
  private readonly rests: Rests;
  private servedAs: string | null;

  constructor(settings: ClientSettings) {
    this.settings = settings;
    this.rests = settings.rests ?? RESTS;
    this.servedAs = settings.servedAs ?? null;
    this.addresses = new Addresses(settings.bases, {
      ...settings,
      rests: this.rests,
      waits: settings.waits ?? NO_LONG_WAITS,
    });
  }

  /**
   * Sends a request, and repeats it at the same or another address if that may help.
   * @param name of the request, which determines the pauses between attempts
   * @param most tokens that one attempt can cost
   * @throws Unanswered; EndpointFailure if no attempt can help; C3Error('budget'); CancelledError
   */
  async ask(
    name: string,
    body: Readonly<Record<string, unknown>>,
    most: TokenCount,
    control: AskControl,
  ): Promise<Reply> {
    const { retries } = this.settings;
    const { signal, firstRefusal = false } = control;
    let before = '';
    for (let attempt = 0; ;) {
      let failure: EndpointFailure;
      try {
        return await this.attempt(body, most, control);
      } catch (error) {
        if (error instanceof Unanswered) {
          throw new Unanswered(`${before}${error.message}`, error.withheld);
        }
        if (!(error instanceof EndpointFailure)) {
          throw error;
        }
        failure = error;
      }
      if (failure.kind === 'refused') {
        throw failure;
      }
      // An address that cannot be reached costs no attempt if others can. It rests meanwhile.
      if (failure.dead && this.addresses.someAlive) {
        continue;
      }
      if (failure.absent && this.addresses.areDead && firstRefusal) {
        throw failure;
      }
      const asked = `${failure.message}${attempt > 0 ? `, asked ${attempt + 1} times` : ''}`;
      if (failure.kind === 'withheld') {
        throw new Unanswered(asked, true);
      }
      // A long wait costs no attempt, because the user agrees to it or refuses it each time.
      if (this.addresses.longWait !== null) {
        before = `${asked}; `;
        continue;
      }
      if (attempt >= retries) {
        throw new Unanswered(asked, false);
      }
      await this.pause(name, attempt, signal);
      attempt++;
    }
  }

  private async attempt(
    body: Readonly<Record<string, unknown>>,
    most: TokenCount,
    { signal, onCharge }: AskControl,
  ): Promise<Reply> {
    const { api, keyOf, timeLimit, spending, prices, exchange: once = exchange } = this.settings;
    const address = await this.addresses.take(signal);
    try {
      const reserved = await spending.reserve(most, prices);
      let used: TokenCount | null = null;
      try {
        const reply = await once({ base: address.base, api, key: keyOf(address.base), body, timeLimit }, signal);
        used = reply.usage ?? most;
        this.checkModel(reply);
        this.addresses.succeeded(address);
        return reply;
      } catch (error) {
        if (error instanceof EndpointFailure) {
          used = error.charged ? most : null;
          if (error.kind === 'again') {
            this.addresses.failed(address, error.retryAfter, error.dead);
          }
          throw new EndpointFailure(error.kind, `${readAddressHost(address.base)} ${error.message}`, error);
        }
        // A cancelled request may be charged.
        used = error instanceof CancelledError ? most : null;
        throw error;
      } finally {
        const cost = spending.charge(reserved, used);
        onCharge?.(cost);
      }
    } finally {
      this.addresses.release(address);
    }
  }

  /** Checks that all answers come from one model. */
  private checkModel({ model }: Reply): void {
    this.servedAs ??= model;
    if (model !== null && model !== this.servedAs) {
      throw new EndpointFailure(
        'refused',
        `answers as the model ${quoteServer(model, null)}, and not as ${quoteServer(this.servedAs ?? '', null)} as before`,
        { charged: true },
      );
    }
  }

  /** Waits between half and all of a time that doubles. The random number affects no token. */
  private async pause(name: string, attempt: number, signal: AbortSignal): Promise<void> {
    const { first, most } = this.rests;
    const key = streamKey({ seed: 0, scope: 'pause', uidSha: name, role: '', turn: attempt, sibling: 0 });
    const whole = Math.min(most, first * 2 ** attempt);
    try {
      await sleep(whole * (0.5 + new Stream(key).uniform(0) / 2), undefined, { signal });
    } catch {
      throw new CancelledError();
    }
  }
}

/** Returns the host of an address. */
export const readAddressHost = (base: string): string => new URL(base).host;

/**
 * Returns the error for a failure that no attempt can help.
 * @param action opens the endpoint's line
 */
export const refusedError = (role: string, failure: EndpointFailure, action?: ErrorAction): C3Error =>
  new C3Error(
    'input',
    `The endpoint of the role ${role}, ${failure.message}; ${
      failure.absent
        ? `start its server, or correct policies.${role}.endpoint.`
        : `check policies.${role} and the key of this address.`
    }`,
    { cause: failure, action },
  );
