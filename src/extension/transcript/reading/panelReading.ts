/** The transcript of a panel under its filter, as the store has it now. Each change of its layout is a new revision. */
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
  /** Members of the failure classes by the workspace's thresholds, once a filter asked for one. */
  classes: ClassMembers | null = null;

  /**
   * @param reader the store; throws where it is gone
   * @param sightOf whom the roles of a run see, as far as it is known
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

  /** The transcript, read when it is first asked for. */
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
   * The layout for a page.
   * @param folded messages whose places it needs
   * @param landmarks messages of which it needs the nearest rows, too, where the filter hides them
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

  /** Shows another transcript, unfiltered. */
  change(target: TranscriptTarget): void {
    this.shown = target;
    this.read = null;
    this.inForce = NO_FILTER;
    this.classes = null;
  }

  /** More is known of whom roles see: the transcript is laid out anew. */
  layOut(): void {
    this.read = null;
  }

  /** Puts a filter in force. */
  filterBy(filter: TranscriptFilter): void {
    this.read = this.reading.filtered(this.reader(), filter, this.classes);
    this.inForce = filter;
    this.count++;
  }

  /** Takes what was added meanwhile; whether the layout is another one now. */
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
