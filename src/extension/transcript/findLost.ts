/** "Find the message that lost it": the credit of every message of an episode, settled one after another. */
import { ProgressLocation, window } from 'vscode';
import { isDecided, sentence } from '../../shared/credit/headline.ts';
import type { Message } from '../../shared/records/records.ts';
import { signed } from '../../shared/text/figures.ts';
import { withoutLinks } from '../common/plainText.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { episodeThrough } from './message/whyLost.ts';
import type { PanelReplay } from './panelReplay.ts';

/** Replays of each message at most: enough for a message that decides half of the returns. */
const MOST_REPLAYS = 32;
/** Messages of an episode that are compared, from its beginning. */
const MOST_MESSAGES = 50;

/**
 * Settles what is not decided yet of the episode that goes through a message.
 * Ends without a word where the user left a question, or a replay was cancelled or failed, which its state says.
 * @param show hears the lowest-credit message
 */
export async function findLost(
  replay: Pick<PanelReplay, 'settleEach' | 'cancel'>,
  reader: () => StoreReader,
  message: number,
  show: (message: number) => void,
): Promise<void> {
  const open = episodeThrough(reader(), message)
    .slice(0, MOST_MESSAGES)
    .filter(({ credit }) => credit === null || !isDecided(credit))
    .map(({ id }) => id);
  const settled = await replay.settleEach(open, MOST_REPLAYS, (work) =>
    window.withProgress(
      { location: ProgressLocation.Notification, title: 'Finding the message that lost it', cancellable: true },
      (progress, token) => {
        token.onCancellationRequested(() => {
          replay.cancel();
        });
        return work((number, id) => {
          const { eventType } = reader().message(id);
          progress.report({ message: `${eventType}, ${String(number)} of ${String(open.length)}` });
        });
      },
    ),
  );
  if (!settled) {
    return;
  }
  const found = reader().costliestThrough(message);
  if (found === null) {
    void window.showInformationMessage('No message of this episode has a credit that is below 0 or undecided.');
    return;
  }
  show(found.message);
  void window.showInformationMessage(withoutLinks(wordsOf(found, reader().message(found.message))));
}

function wordsOf(
  { value, decided }: NonNullable<ReturnType<StoreReader['costliestThrough']>>,
  { eventType: role, credit }: Message,
): string {
  const interval =
    credit === null || credit.low === null || credit.high === null
      ? ''
      : ` [${signed(credit.low, 2)}, ${signed(credit.high, 2)}], ${sentence(credit)}`;
  const worth = `credit ${signed(value, 2)}${interval}`;
  return decided
    ? `The message of ${role} lost it: ${worth}.`
    : `No message is known to have lost it. The clearest candidate is that of ${role}: ${worth}.`;
}
