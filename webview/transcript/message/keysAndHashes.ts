/**
 * What names a message for machines, ids, keys and hashes, and the record of each bucket by itself, folded away under
 * "Details".
 */
import type { BucketView } from '../../../src/domain/replay.ts';
import type { Credit } from '../../../src/shared/credit/credit.ts';
import type { MessageDetail } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { h, replace, type Child } from '../../common/dom.ts';
import { bounds, count, signed } from '../../common/format.ts';
import { term } from '../../common/term.ts';
import { fact } from './fact.ts';

export class KeysAndHashes {
  readonly element: HTMLDetailsElement;
  private readonly facts = h('dl', { class: 'facts' });

  /** @param toggled it was opened or closed by the user */
  constructor(toggled: () => void) {
    this.element = h('details', { class: 'keys-and-hashes' }, h('summary', {}, 'Details'), this.facts);
    this.element.addEventListener('toggle', toggled);
  }

  show({ message, buckets, streamKey, tokenHash }: MessageDetail): void {
    const named = (name: Child, value: string): readonly HTMLElement[] => fact(name, h('code', {}, value));
    replace(
      this.facts,
      ...named('Message', String(message.id)),
      ...(message.bucket === null ? [] : named(term('bucket', 'Bucket'), String(message.bucket))),
      ...named(term('snapshot', 'Snapshot'), message.snapshot),
      ...named('Context key', message.contextKey),
      ...named(term('stream', 'Stream key'), streamKey === '' ? 'none' : streamKey),
      ...named('Token hash', tokenHash),
      ...(message.trainingCredit === null ? [] : fact('Training credit', creditWords(message.trainingCredit))),
      ...buckets.flatMap((bucket) => recordOf(bucket, message.id)),
    );
  }
}

/** The credit that one bucket recorded for the message; nothing where it recorded none. */
function recordOf({ id, origin, iteration, alternatives }: BucketView, message: number): readonly HTMLElement[] {
  const credit = alternatives.find(({ message: one }) => one === message)?.bucketCredit ?? null;
  const where = origin === 'request' ? `replay request ${iteration}` : `${origin}, step ${iteration}`;
  return credit === null ? [] : fact(`Bucket ${id}`, `${creditWords(credit)} (${where})`);
}

function creditWords({ value, low, high, n, estimator, interval }: Credit): string {
  const within = bounds(low, high);
  return `${signed(value)}${within === null ? ', no interval' : ` ${within} (${interval})`}, n = ${count(n)}, ${estimator}`;
}
