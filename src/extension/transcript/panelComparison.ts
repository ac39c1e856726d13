/** The comparison of two branches in a panel: which are compared, and their texts in the diff editor. */
import type { TranscriptFromHost } from '../../shared/protocols/transcriptProtocol.ts';
import type { Services } from '../services.ts';

export class PanelComparison {
  private readonly comparing: Services['comparing'];
  private readonly post: (message: TranscriptFromHost) => void;
  /** The messages whose branches are compared. */
  private pair: { readonly left: number; readonly right: number } | null = null;

  constructor(comparing: Services['comparing'], post: (message: TranscriptFromHost) => void) {
    this.comparing = comparing;
    this.post = post;
  }

  /** Chooses a message; the second one is compared with the first. */
  choose(message: number): void {
    const pair = this.comparing.choose(message);
    if (pair !== null) {
      this.show(pair.left, pair.right);
    }
  }

  /** Shows where two branches part. */
  show(left: number, right: number): void {
    const comparison = this.comparing.compare(left, right);
    this.pair = { left, right };
    this.post({ type: 'comparison', comparison });
  }

  end(): void {
    this.pair = null;
  }

  /** Opens what is compared in the diff editor. */
  async openDiff(): Promise<void> {
    if (this.pair !== null) {
      await this.comparing.openDiff(this.pair.left, this.pair.right);
    }
  }
}
