/** The steps of one run for its charts: what has ended is read once, long runs are thinned out. */
import { STEPS_SHOWN } from '../shared/dashboardProtocol.ts';
import type { Step } from '../shared/records.ts';
import type { StoreReader } from '../store/reader.ts';

const PAGE = 200;

export class StepHistory {
  private run: string | null = null;
  private ended: Step[] = [];

  /** At most STEPS_SHOWN steps that ended, every `stride`-th and the last. */
  read(reader: Pick<StoreReader, 'steps'>, run: string): { readonly steps: readonly Step[]; readonly stride: number } {
    if (run !== this.run) {
      this.run = run;
      this.ended = [];
    }
    for (;;) {
      const page = reader.steps(run, this.ended.length, PAGE);
      // A step without metrics goes on; it is read again when it has ended.
      const open = page.findIndex((step) => step.metrics === null);
      this.ended.push(...(open < 0 ? page : page.slice(0, open)));
      if (open >= 0 || page.length < PAGE) break;
    }
    return thinned(this.ended, STEPS_SHOWN);
  }
}

/** At most `most` entries: every `stride`-th from the first on, and the last. */
export function thinned<T>(entries: readonly T[], most: number): { readonly steps: readonly T[]; readonly stride: number } {
  const stride = Math.max(1, Math.ceil(entries.length / Math.max(1, most - 1)));
  if (stride === 1) return { steps: entries, stride };
  return { steps: entries.filter((_, index) => index % stride === 0 || index === entries.length - 1), stride };
}
