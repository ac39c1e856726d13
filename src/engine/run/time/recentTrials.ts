/** Trials of models that were made not long ago: a machine that was loaded for a minute is tried again later. */
import type { MessageSeconds } from './estimate.ts';

/** Milliseconds for which a trial says how fast the machine is. */
const RECENT = 5 * 60_000;

export class RecentTrials {
  private readonly trials = new Map<string, { readonly seconds: MessageSeconds; readonly at: number }>();

  /** @param now milliseconds of a clock that only goes forward @returns null where it was not tried lately */
  get(key: string, now: number): MessageSeconds | null {
    const known = this.trials.get(key);
    return known === undefined || now - known.at > RECENT ? null : known.seconds;
  }

  set(key: string, seconds: MessageSeconds, now: number): void {
    this.trials.set(key, { seconds, at: now });
  }
}
