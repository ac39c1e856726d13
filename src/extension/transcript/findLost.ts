/**
 * The command "Find the message that lost it". Uses the engine's search, with a team file for a
 * recorded episode. If servers answer for the run, settles the credit of each message instead.
 */

import { env, ProgressLocation, window, type CancellationToken, type Progress } from 'vscode';
import { BLAME_BUDGET, type Blame } from '../../domain/answer.ts';
import type { Message } from '../../domain/message.ts';
import { asksServers } from '../../domain/run.ts';
import { isDecided, describeHeadline } from '../../shared/credit/headline.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import type { BlameParams } from '../../shared/protocols/engineProtocol.ts';
import { formatSigned } from '../../shared/text/figures.ts';
import { readEpisodeThrough } from '../../shared/transcript/episodeThrough.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutLinks } from '../common/plainText.ts';
import type { Services } from '../services.ts';
import type { PanelReplay } from './panelReplay.ts';

/** Maximum number of replays of each message: enough for a message that decides half of the returns. */
const MOST_REPLAYS = 32;
/** Maximum number of messages of an episode that are compared, from its start. */
const MOST_MESSAGES = 50;
const TITLE = 'Finding the message that lost it';

export interface FindPlace {
  readonly engine: Services['engine'];
  readonly store: Services['store'];
  readonly replay: Pick<PanelReplay, 'agreedTeam' | 'settleEach' | 'cancel'>;
  readonly reader: () => StoreReader;
}

/**
 * Finds the message that lost the episode through a message, names it in one sentence, and goes there.
 * Ends silently if the user cancels.
 * @param show called with the message that was found
 */
export async function findLost(place: FindPlace, message: number, show: (message: number) => void): Promise<void> {
  const { run } = place.reader().message(message);
  await (asksServers(place.reader().runConfig(run))
    ? settleAll(place, message, show)
    : searchLostMessage(place, message, show));
}

/**
 * Searches with the models of this machine, or with the team of a recording after the user has named
 * it and agreed to its cost. The transcript shows the samples as they are stored.
 */
async function searchLostMessage(place: FindPlace, message: number, show: (message: number) => void): Promise<void> {
  try {
    const request = { message, budget: BLAME_BUDGET.usual };
    const team = await place.replay.agreedTeam(message, (named) =>
      named.team === undefined ? Promise.resolve([]) : place.engine.client().blameCosts({ ...request, ...named }),
    );
    if (team === null) {
      return;
    }
    const blame = await withNotification((progress, token) =>
      askForBlame(place.engine, { ...request, ...team }, progress, token),
    );
    // One update of the views, rather than one for each of a dozen requests.
    place.store.touch();
    const [named] = blame.messages;
    if (named !== undefined) {
      show(named);
    }
    const further = blame.verdict === 'undecided' ? 'Search Further' : 'Copy Answer';
    // With a button, the editor shows the whole text, otherwise only one line.
    void window.showInformationMessage(withoutLinks(blame.sentence), further).then(async (chosen) => {
      if (chosen === 'Search Further') {
        await searchLostMessage(place, message, show);
      } else if (chosen === 'Copy Answer') {
        await env.clipboard.writeText(blame.sentence);
      }
    });
  } catch (error) {
    if (!(error instanceof CancelledError)) {
      void window.showErrorMessage(withoutLinks(toErrorMessage(error)));
    }
  }
}

async function askForBlame(
  engine: Services['engine'],
  request: BlameParams,
  progress: Progress<{ message: string }>,
  token: CancellationToken,
): Promise<Blame> {
  const listener = engine.onBlameProgress(({ words }) => progress.report({ message: words }));
  try {
    return await engine.client().blame(request, token);
  } finally {
    listener.dispose();
  }
}

const withNotification = <Result>(
  work: (progress: Progress<{ message: string }>, token: CancellationToken) => Promise<Result>,
): Thenable<Result> =>
  window.withProgress({ location: ProgressLocation.Notification, title: TITLE, cancellable: true }, work);

/** Settles the undecided credits of the episode, after the user has agreed to the cost of servers. */
async function settleAll(
  { replay, reader }: FindPlace,
  message: number,
  show: (message: number) => void,
): Promise<void> {
  const open = readEpisodeThrough(reader(), message)
    .slice(0, MOST_MESSAGES)
    .filter(({ credit }) => credit === null || !isDecided(credit))
    .map(({ id }) => id);
  const settled = await replay.settleEach(open, MOST_REPLAYS, async (work) =>
    withNotification((progress, token) => {
      token.onCancellationRequested(() => replay.cancel());
      return work((number, id) => {
        const { role } = reader().message(id);
        progress.report({ message: `${role}, ${number} of ${open.length}` });
      });
    }),
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
  void window.showInformationMessage(withoutLinks(describeLostMessage(found, reader().message(found.message))));
}

function describeLostMessage(
  { value, decided }: NonNullable<ReturnType<StoreReader['costliestThrough']>>,
  { role, credit }: Message,
): string {
  const interval =
    credit === null || credit.low === null || credit.high === null
      ? ''
      : ` [${formatSigned(credit.low, 2)}, ${formatSigned(credit.high, 2)}], ${describeHeadline(credit)}`;
  const worth = `credit ${formatSigned(value, 2)}${interval}`;
  return decided
    ? `The message of ${role} lost it: ${worth}.`
    : `No message is known to have lost it. The clearest candidate is that of ${role}: ${worth}.`;
}
