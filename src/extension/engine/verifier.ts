/** Re-executes replays on request. Shows progress with a cancel button, and the result. */

import { ProgressLocation, window } from 'vscode';
import { asksServers } from '../../domain/run.ts';
import { describeReport, type VerificationReport } from '../../domain/verification.ts';
import { describeCost } from '../../shared/endpointCost.ts';
import { CancelledError } from '../../shared/errors.ts';
import type { Log } from '../common/log.ts';
import { withoutLinks } from '../common/plainText.ts';
import { showError } from '../common/report.ts';
import { askForConfirmation } from '../webview/confirm.ts';
import type { Engine } from './engine.ts';
import type { StoreAccess } from './storeAccess.ts';

export class Verifier {
  private readonly engine: Engine;
  private readonly store: StoreAccess;
  private readonly log: Log;
  private readonly underWay = new Set<number>();

  constructor(engine: Engine, store: StoreAccess, log: Log) {
    this.engine = engine;
    this.store = store;
    this.log = log;
  }

  /**
   * Verifies the replays of a message. A second call meanwhile does nothing. Results from before a
   * cancellation are kept.
   */
  async verify(message: number): Promise<void> {
    if (this.underWay.has(message)) {
      return;
    }
    this.underWay.add(message);
    try {
      const found = await this.withProgress(message);
      const words = withoutLinks(describeReport('this message', found));
      if (found.different > 0) {
        void window.showWarningMessage(words);
      } else {
        void window.showInformationMessage(words);
      }
    } catch (error) {
      if (!(error instanceof CancelledError)) {
        await showError(error, this.log);
      }
    } finally {
      this.underWay.delete(message);
      this.store.touch();
    }
  }

  private async withProgress(message: number): Promise<VerificationReport> {
    const client = this.engine.client();
    const again = await this.samplesAgain(message);
    const options = { location: ProgressLocation.Notification, title: 'Verify replay', cancellable: true };
    const shown = window.withProgress(options, async (progress, token) => {
      let before = 0;
      const listener = this.engine.onVerifyProgress(({ message: of, done, total }) => {
        if (of !== message) {
          return;
        }
        progress.report({
          message: `${done} of ${total} replays`,
          increment: (100 * (done - before)) / Math.max(1, total),
        });
        before = done;
      });
      try {
        return await client.verify({ message, again }, token);
      } finally {
        listener.dispose();
      }
    });
    return shown;
  }

  /**
   * Asks if replays of servers without seeds are to be sampled again, at the same cost as before.
   * @returns true if the user agrees
   */
  private async samplesAgain(message: number): Promise<boolean> {
    const reader = this.store.reader();
    if (reader === null || !asksServers(reader.runConfig(reader.message(message).run))) {
      return false;
    }
    const costs = await this.engine.client().verifyCosts({ message });
    const why =
      'Servers without seeds do not repeat a message. Their replays can only be sampled again, to compare the returns. Otherwise they are not comparable.';
    const detail = [why, ...costs.map(describeCost)].join('\n');
    return costs.length > 0 && askForConfirmation('Sample the answers of servers again?', 'Sample again', detail);
  }
}
