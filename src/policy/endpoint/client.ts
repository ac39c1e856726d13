/** Asks an endpoint until it answers: several addresses, limits, attempts, and what it all costs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Stream, streamKey } from '../../runtime/random.ts';
import { C3Error, CancelledError, type ErrorAction } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { Addresses, type Rests } from './addresses.ts';
import { exchange, type Exchange } from './exchange.ts';
import { EndpointFailure, serverWords, Unanswered } from './failure.ts';
import { REFUSED_WAITS, type LongWaits } from './longWaits.ts';
import type { Reply } from './reply.ts';
import type { Spending, TokenCount } from './spending.ts';

export interface ClientSettings {
  readonly bases: readonly string[];
  readonly api: EndpointApi;
  /** The key of an address; null where it needs none. */
  readonly keyOf: (base: string) => string | null;
  readonly concurrency: number;
  readonly perMinute: number | null;
  /** Attempts after the first. */
  readonly retries: number;
  /** Milliseconds for one attempt. */
  readonly timeLimit: number;
  readonly spending: Spending;
  /** How the model was named by those who answered before; null where nobody did. */
  readonly servedAs?: string | null;
  /** Whether long waits are waited for; none is unless given. */
  readonly waits?: LongWaits;
  /** Milliseconds between attempts; the usual ones unless given. */
  readonly rests?: Rests;
  /** How an address is asked once; over HTTP unless given. Errors as exchange. */
  readonly exchange?: (request: Exchange, signal: AbortSignal) => Promise<Reply>;
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
      waits: settings.waits ?? REFUSED_WAITS,
    });
  }

  /**
   * Asks, at another address or again where that may help.
   * @param name of the request, from which the pauses between attempts are drawn
   * @param most what one attempt can cost
   * @param firstRefusal whether it ends, in place of further attempts, once nothing listens at any address
   * @throws Unanswered; EndpointFailure where no attempt can help; C3Error('budget'); CancelledError
   */
  async ask(
    name: string,
    body: Readonly<Record<string, unknown>>,
    most: TokenCount,
    signal: AbortSignal,
    firstRefusal = false,
  ): Promise<Reply> {
    const { retries } = this.settings;
    let before = '';
    for (let attempt = 0; ;) {
      let failure: EndpointFailure;
      try {
        return await this.attempt(body, most, signal);
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
      // An address that cannot be reached costs no attempt as long as there are others; it rests meanwhile.
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
      // A long wait costs no attempt: whoever is asked agrees to it each time, or refuses it.
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
    signal: AbortSignal,
  ): Promise<Reply> {
    const { api, keyOf, timeLimit, spending, exchange: once = exchange } = this.settings;
    const address = await this.addresses.take(signal);
    try {
      const reserved = await spending.reserve(most);
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
          throw new EndpointFailure(error.kind, `${hostOf(address.base)} ${error.message}`, error);
        }
        // What was cancelled may be charged.
        used = error instanceof CancelledError ? most : null;
        throw error;
      } finally {
        spending.charge(reserved, used);
      }
    } finally {
      this.addresses.release(address);
    }
  }

  /** All answers are those of one model, whoever gives them. */
  private checkModel({ model }: Reply): void {
    this.servedAs ??= model;
    if (model !== null && model !== this.servedAs) {
      throw new EndpointFailure(
        'refused',
        `answers as the model ${serverWords(model, null)}, and not as ${serverWords(this.servedAs ?? '', null)} as before`,
        { charged: true },
      );
    }
  }

  /** Between half and all of a time that doubles; nothing that is drawn here reaches a token. */
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

/** The part of an address that names its server. */
export const hostOf = (base: string): string => new URL(base).host;

/** What cannot be helped, as the user reads it. @param action opens the endpoint's line */
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
