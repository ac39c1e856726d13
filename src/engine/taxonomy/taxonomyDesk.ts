/** Caches the data of the last viewed runs, so that other thresholds are applied at once. */

import type { TaxonomyParams, TaxonomyView } from '../../domain/taxonomy.ts';
import type { StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { findProblemClasses } from './taxonomyClasses.ts';
import { readDetectorReports } from './taxonomyReport.ts';
import { readBuckets, studyRun, createTaxonomyView, type ReadRun } from './taxonomyView.ts';

/** Most runs in the cache. */
const KEPT = 2;

export class TaxonomyDesk {
  /** Runs in the order of their last use. */
  private readonly known = new Map<string, ReadRun>();

  /**
   * Returns the view of a run.
   * @param protocolOf returns the protocol of the run; called only when the run is read
   * @throws C3Error('input') for an unknown run or thresholds out of bounds
   */
  async view(store: StoreReader, params: TaxonomyParams, protocolOf: () => Protocol): Promise<TaxonomyView> {
    const read = await this.read(store, params, protocolOf);
    const view = createTaxonomyView(store, read, params);
    if (params.problems !== true) {
      return view;
    }
    return {
      ...view,
      problems: findProblemClasses(
        read.studies.map(({ bucket }) => bucket.problem),
        read.published,
      ),
    };
  }

  private async read(store: StoreReader, { run, fresh }: TaxonomyParams, protocolOf: () => Protocol): Promise<ReadRun> {
    const read = (fresh ? undefined : this.known.get(run)) ?? (await readRun(store, run, protocolOf()));
    this.known.delete(run);
    this.known.set(run, read);
    for (const oldest of [...this.known.keys()].slice(0, -KEPT)) {
      this.known.delete(oldest);
    }
    return read;
  }
}

async function readRun(store: StoreReader, run: string, protocol: Protocol): Promise<ReadRun> {
  const cases = await readBuckets(store, run, protocol);
  return studyRun(cases, await readDetectorReports(store, run, cases.isVote));
}
