/**
 * What one taxonomy panel asks and receives: another choice is an answer at once, the newest one wins, and labels are
 * appended by the engine.
 */
import { hasCode, messageOf } from '../../shared/errors.ts';
import {
  CASES_SHOWN,
  ALTERNATIVE_PREVIEW,
  type TAXONOMY_REQUESTS,
  type CaseDetail,
  type TaxonomyFromHost,
  type TaxonomyToHost,
} from '../../shared/protocols/taxonomyProtocol.ts';
import {
  NO_FILTER,
  sameThresholds,
  type CaseLabel,
  type LabelParams,
  type TaxonomyParams,
  type TaxonomyThresholds,
  type TaxonomyView,
} from '../../domain/taxonomy.ts';
import { beginning } from '../../shared/text/visible.ts';
import { replyTo, type Answers } from '../../shared/protocols/requests.ts';
import type { StoreReader } from '../../store/read/reader.ts';

/** The part of the engine that answers here. */
export interface TaxonomyEngine {
  taxonomy(params: TaxonomyParams): Promise<TaxonomyView>;
  label(params: LabelParams): Promise<CaseLabel>;
}

export interface TaxonomySurroundings {
  /** Asked for at each request; throws with the reason where there can be none. */
  readonly engine: () => TaxonomyEngine;
  /** @throws with the reason where there is no store */
  readonly reader: () => Pick<StoreReader, 'run' | 'bucketView' | 'labelsOfBucket' | 'countBuckets'>;
  readonly thresholds: { get(): TaxonomyThresholds; remember(thresholds: TaxonomyThresholds): Promise<void> };
  post(message: TaxonomyFromHost): void;
  openMessage(message: number): void;
  /** An error that the page receives too. */
  failed(message: string): void;
}

/** Buckets of these are cases of a run; requested replays are not. */
const CASE_ORIGINS = ['training', 'diagnostic'] as const;

type Choice = Omit<TaxonomyParams, 'run' | 'fresh'>;

export class TaxonomySession {
  private readonly run: string;
  private readonly around: TaxonomySurroundings;
  private choice: Choice;
  private fresh = true;
  private answering = false;
  /** Asked again while the engine was answering: one more answer is owed, however often it was asked. */
  private again = false;
  private buckets: number | null = null;
  private readonly answers: Answers<typeof TAXONOMY_REQUESTS> = {
    case: ({ bucket }) => caseDetail(this.around.reader(), bucket),
    label: (given) => this.label(given),
  };

  constructor(run: string, around: TaxonomySurroundings) {
    this.run = run;
    this.around = around;
    this.choice = { thresholds: around.thresholds.get(), filter: NO_FILTER, limit: CASES_SHOWN };
  }

  /** Answers a message of the page; never rejects. */
  async receive(message: TaxonomyToHost): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.choice = { thresholds: this.around.thresholds.get(), filter: message.filter, limit: message.limit };
        await this.telling(() => {
          this.tellRun();
        });
        await this.show();
        this.storeChanged();
        break;
      case 'show':
        this.choice = { thresholds: message.thresholds, filter: message.filter, limit: message.limit };
        await this.show();
        break;
      case 'readAgain':
        this.fresh = true;
        await this.show();
        break;
      case 'request':
        await this.telling(async () => {
          const reply = await replyTo(this.answers, message);
          this.around.post(reply);
          if (message.kind === 'label' && reply.answer === null) {
            await this.show();
          }
        });
        break;
      case 'open':
        this.around.openMessage(message.message);
        break;
    }
  }

  /** The store may hold more than is shown. What is shown stays as it is; the page says how much there is by now. */
  storeChanged(): void {
    if (this.buckets === null) {
      return;
    }
    try {
      const reader = this.around.reader();
      const buckets = CASE_ORIGINS.reduce((sum, origin) => sum + reader.countBuckets({ run: this.run, origin }), 0);
      this.around.post({ type: 'grown', buckets });
    } catch {
      // A store that cannot be read is reported when it is asked for.
    }
  }

  /** Asks the engine for the newest choice until none is newer. */
  private async show(): Promise<void> {
    this.again = true;
    if (this.answering) {
      return;
    }
    this.answering = true;
    try {
      while (this.again) {
        this.again = false;
        await this.telling(async () => {
          await this.answer();
        });
      }
    } finally {
      this.answering = false;
    }
  }

  private async answer(): Promise<void> {
    const { choice, fresh } = this;
    if (fresh) {
      this.around.post({ type: 'working' });
    }
    const view = await this.around.engine().taxonomy({ run: this.run, ...choice, fresh });
    if (fresh) {
      this.fresh = false;
    }
    this.buckets = view.buckets;
    this.around.post({ type: 'view', view });
    if (!sameThresholds(choice.thresholds, this.around.thresholds.get())) {
      await this.around.thresholds.remember(choice.thresholds);
    }
  }

  /** @returns why it cannot be written; null where it was */
  private async label(given: LabelParams): Promise<string | null> {
    try {
      await this.around.engine().label(given);
      return null;
    } catch (error) {
      const message = messageOf(error);
      this.around.failed(message);
      return hasCode(error, 'storeHeld') ? `Labels cannot be written now: ${message}` : message;
    }
  }

  private tellRun(): void {
    const { id, title } = this.around.reader().run(this.run);
    this.around.post({ type: 'opened', run: id, title: 'Failure taxonomy', subtitle: title });
  }

  private async telling(work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const message = messageOf(error);
      this.around.failed(message);
      this.around.post({ type: 'failed', message });
    }
  }
}

/** What the store holds of a case, bounded. */
export function caseDetail(reader: Pick<StoreReader, 'bucketView' | 'labelsOfBucket'>, bucket: number): CaseDetail {
  const { alternatives } = reader.bucketView(bucket);
  const real = alternatives.find(({ original }) => original) ?? alternatives[0];
  return {
    bucket,
    alternatives: alternatives.map(({ message, text, returns, evaluatorCalls, credit }) => ({
      message: message,
      text: beginning(text, ALTERNATIVE_PREVIEW),
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
