/**
 * Answers the requests of a taxonomy panel. Each choice is answered at once, and only the newest
 * counts. Labels are appended by the engine.
 */

import {
  NO_FILTER,
  sameThresholds,
  type CaseLabel,
  type LabelParams,
  type TaxonomyParams,
  type TaxonomyThresholds,
  type TaxonomyView,
} from '../../domain/taxonomy.ts';
import { hasCode, toErrorMessage } from '../../shared/errors.ts';
import {
  CASES_SHOWN,
  ALTERNATIVE_PREVIEW,
  type TAXONOMY_PANEL,
  type CaseDetail,
  type TaxonomyFromHost,
} from '../../shared/protocols/taxonomyProtocol.ts';
import { takeBeginning } from '../../shared/text/visible.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { attemptForPage, type Page, type SessionOf, type AnswersOf, type EventsOf } from '../webview/panelSession.ts';

/** The part of the engine that is used here. */
export interface TaxonomyEngine {
  taxonomy(params: TaxonomyParams): Promise<TaxonomyView>;
  label(params: LabelParams): Promise<CaseLabel>;
}

export interface TaxonomySurroundings {
  /** Called for each request. Throws if there can be no engine, with the reason. */
  readonly engine: () => TaxonomyEngine;
  /** @throws if there is no store, with the reason */
  readonly reader: () => Pick<StoreReader, 'run' | 'bucketView' | 'labelsOfBucket' | 'countBuckets'>;
  readonly thresholds: { get(): TaxonomyThresholds; remember(thresholds: TaxonomyThresholds): Promise<void> };
  openMessage(message: number): void;
  readonly log: { error(message: string): void };
}

/** Origins of the buckets that are cases of a run. Requested replays are not. */
const CASE_ORIGINS = ['training', 'diagnostic'] as const;

type Choice = Omit<TaxonomyParams, 'run' | 'fresh'>;

export class TaxonomySession implements SessionOf<typeof TAXONOMY_PANEL> {
  private readonly run: string;
  private readonly page: Page<TaxonomyFromHost>;
  private readonly around: TaxonomySurroundings;
  private choice: Choice;
  private fresh = true;
  private answering = false;
  /** True if a choice arrived while the engine was answering, so that one more request is needed. */
  private again = false;
  private buckets: number | null = null;
  readonly answers: AnswersOf<typeof TAXONOMY_PANEL> = {
    case: ({ bucket }) => readCaseDetail(this.around.reader(), bucket),
    label: (given) => this.label(given),
  };
  readonly events: EventsOf<typeof TAXONOMY_PANEL> = {
    ready: async ({ filter, limit }) => {
      this.choice = { thresholds: this.around.thresholds.get(), filter, limit };
      attemptForPage(this.page, () => {
        const { id, title } = this.around.reader().run(this.run);
        this.page.post({ type: 'opened', run: id, title: 'Failure taxonomy', subtitle: title });
      });
      await this.show();
      this.storeChanged();
    },
    show: ({ thresholds, filter, limit }) => {
      this.choice = { thresholds, filter, limit };
      return this.show();
    },
    readAgain: () => {
      this.fresh = true;
      return this.show();
    },
    open: ({ message }) => this.around.openMessage(message),
  };

  constructor(run: string, page: Page<TaxonomyFromHost>, around: TaxonomySurroundings) {
    this.run = run;
    this.page = page;
    this.around = around;
    this.choice = { thresholds: around.thresholds.get(), filter: NO_FILTER, limit: CASES_SHOWN };
  }

  /** Sends the present number of buckets. The shown cases stay the same until they are read again. */
  storeChanged(): void {
    if (this.buckets === null) {
      return;
    }
    try {
      const reader = this.around.reader();
      const buckets = CASE_ORIGINS.reduce((sum, origin) => sum + reader.countBuckets({ run: this.run, origin }), 0);
      this.page.post({ type: 'grown', buckets });
    } catch {
      // A store that cannot be read is reported at the next request.
    }
  }

  /** Asks the engine for the newest choice, until no newer one has arrived. */
  private async show(): Promise<void> {
    this.again = true;
    if (this.answering) {
      return;
    }
    this.answering = true;
    try {
      while (this.again) {
        this.again = false;
        try {
          await this.answer();
        } catch (error) {
          this.page.fail(error);
        }
      }
    } finally {
      this.answering = false;
    }
  }

  private async answer(): Promise<void> {
    const { choice, fresh } = this;
    if (fresh) {
      this.page.post({ type: 'working' });
    }
    const view = await this.around.engine().taxonomy({ run: this.run, ...choice, fresh });
    if (fresh) {
      this.fresh = false;
    }
    this.buckets = view.buckets;
    this.page.post({ type: 'view', view });
    if (!sameThresholds(choice.thresholds, this.around.thresholds.get())) {
      await this.around.thresholds.remember(choice.thresholds);
    }
  }

  /** Writes a label. @returns the reason why it cannot be written, or null if it was */
  private async label(given: LabelParams): Promise<string | null> {
    try {
      await this.around.engine().label(given);
      return null;
    } catch (error) {
      const message = toErrorMessage(error);
      this.around.log.error(message);
      return hasCode(error, 'storeHeld') ? `Labels cannot be written now: ${message}` : message;
    }
  }
}

/** Reads a case from the store, with texts of a limited length. */
export function readCaseDetail(reader: Pick<StoreReader, 'bucketView' | 'labelsOfBucket'>, bucket: number): CaseDetail {
  const { alternatives } = reader.bucketView(bucket);
  const real = alternatives.find(({ original }) => original) ?? alternatives[0];
  return {
    bucket,
    alternatives: alternatives.map(({ message, text, returns, evaluatorCalls, credit }) => ({
      message,
      text: takeBeginning(text, ALTERNATIVE_PREVIEW),
      cut: text.length > ALTERNATIVE_PREVIEW,
      real: message === real?.message,
      returns,
      evaluatorCalls,
      credit,
    })),
    labels: reader
      .labelsOfBucket(bucket)
      .map(({ name, note, author, createdAt }) => ({ name, note, author, createdAt })),
  };
}
