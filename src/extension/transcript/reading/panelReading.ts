/** The filtered transcript of a panel, kept up to date. Each change of its layout has a new revision. */

import {
  NO_FILTER,
  type TranscriptFilter,
  type TranscriptLayout,
  type TranscriptTarget,
} from '../../../shared/protocols/transcriptProtocol.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import { TranscriptOutline, type Sight } from './transcriptOutline.ts';
import { TranscriptReading, type ClassMembers } from './transcriptReading.ts';

export class PanelReading {
  private readonly reader: () => StoreReader;
  private readonly sightOf: (run: string) => Sight;
  private shown: TranscriptTarget;
  private read: TranscriptReading | null = null;
  private inForce: TranscriptFilter = NO_FILTER;
  private count = 0;
  /** Members of the failure classes under the workspace's thresholds, or null until a filter needs them. */
  classes: ClassMembers | null = null;

  /**
   * @param reader returns the store; throws if it no longer exists
   * @param sightOf returns the roles that each role of a run sees, or null if that is not known
   */
  constructor(reader: () => StoreReader, target: TranscriptTarget, sightOf: (run: string) => Sight) {
    this.reader = reader;
    this.sightOf = sightOf;
    this.shown = target;
  }

  get target(): TranscriptTarget {
    return this.shown;
  }

  get filter(): TranscriptFilter {
    return this.inForce;
  }

  get revision(): number {
    return this.count;
  }

  /** The transcript, which is read on first use. */
  get reading(): TranscriptReading {
    if (this.read === null) {
      const [reader, target] = [this.reader(), this.shown];
      const outline = TranscriptOutline.read(reader, target, this.sightOf(target.run));
      this.read = new TranscriptReading(reader, target, this.inForce, this.classes, outline);
      this.count++;
    }
    return this.read;
  }

  /**
   * Returns the layout for a page.
   * @param folded messages whose places the page needs
   * @param landmarks messages whose nearest rows the page needs too, if the filter hides them
   */
  layout(folded: readonly number[], landmarks: readonly number[]): TranscriptLayout {
    const { reading } = this;
    return {
      revision: this.count,
      ...reading.sizes,
      places: [...new Set([...folded, ...landmarks])].map((id) => reading.place(id)).filter((place) => place !== null),
      near: [...new Set(landmarks)].flatMap((message) => {
        const index = reading.nearest(message);
        return index === null ? [] : [{ message, index }];
      }),
    };
  }

  /** Shows another transcript without a filter. */
  change(target: TranscriptTarget): void {
    this.shown = target;
    this.read = null;
    this.inForce = NO_FILTER;
    this.classes = null;
  }

  /** Discards the layout, after more is known about the roles that see each other. */
  layOut(): void {
    this.read = null;
  }

  filterBy(filter: TranscriptFilter): void {
    this.read = this.reading.filtered(this.reader(), filter, this.classes);
    this.inForce = filter;
    this.count++;
  }

  /** Reads messages that were added meanwhile. @returns true if the layout has changed */
  catchUp(): boolean {
    const fresh = this.read?.refreshed(this.reader()) ?? null;
    if (fresh === this.read) {
      return false;
    }
    this.read = fresh;
    this.count++;
    return true;
  }
}
