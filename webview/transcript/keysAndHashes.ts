/** What names a message for machines: ids, keys and hashes, folded away under "Details". */
import type { MessageDetail } from '../../src/shared/transcriptProtocol.ts';
import { h, replace } from '../common/dom.ts';
import { fact } from './fact.ts';

export class KeysAndHashes {
  readonly element: HTMLDetailsElement;
  private readonly facts = h('dl', { class: 'facts' });

  /** @param toggled it was opened or closed by the user */
  constructor(toggled: () => void) {
    this.element = h('details', { class: 'keys-and-hashes' }, h('summary', {}, 'Details'), this.facts);
    this.element.addEventListener('toggle', toggled);
  }

  show({ message, streamKey, tokenHash }: MessageDetail): void {
    const named = (name: string, value: string): readonly HTMLElement[] => fact(name, h('code', {}, value));
    replace(
      this.facts,
      ...named('Message', String(message.id)),
      ...(message.bucket === null ? [] : named('Bucket', String(message.bucket))),
      ...named('Snapshot', message.snapshot),
      ...named('Context key', message.contextKey),
      ...named('Stream key', streamKey === '' ? 'none' : streamKey),
      ...named('Token hash', tokenHash),
    );
  }
}
