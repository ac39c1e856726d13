/** The episodes panel: one panel that shows a chosen run, with one row for each of its problems. */

import { window, type WebviewPanel } from 'vscode';
import type { LostProblemRow } from '../../domain/problem.ts';
import { shownStatus } from '../../domain/run.ts';
import { toErrorMessage } from '../../shared/errors.ts';
import {
  FILTER_NAME_LIMIT,
  isEpisodesState,
  EPISODES_PANEL,
  type EpisodesFromHost,
} from '../../shared/protocols/episodesProtocol.ts';
import type { TranscriptTarget } from '../../shared/protocols/transcriptProtocol.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import { runCommand } from '../common/runCommand.ts';
import { saveTable } from '../common/saveTable.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import type { Services } from '../services.ts';
import type { Page } from '../webview/panelSession.ts';
import { SinglePanel } from '../webview/panels.ts';
import { EpisodesSession, type EpisodesOpening, type ProblemClasses } from './episodesSession.ts';

export interface EpisodesParts {
  /** Storage for saved filters. */
  readonly keeper: ListKeeper;
  readonly classesOf: (run: string) => Promise<ProblemClasses>;
  readonly openTranscript: (target: TranscriptTarget, message: number, beside: boolean) => void;
}

export class Episodes {
  private readonly panel: SinglePanel<typeof EPISODES_PANEL, EpisodesFromHost, EpisodesOpening, EpisodesSession>;

  constructor(services: Services, parts: EpisodesParts) {
    this.panel = new SinglePanel(EPISODES_PANEL, services, (opening, page) =>
      beginEpisodesSession(opening, page, services, parts),
    );
  }

  /** True if the panel is open. */
  get isOpen(): boolean {
    return this.panel.session !== null;
  }

  /** The run that is shown if the panel is the active editor, or null. */
  get runInFront(): string | null {
    return this.panel.isInFront ? (this.panel.session?.shownRun ?? null) : null;
  }

  /** The problem with the keyboard focus if the panel is the active editor, or null. */
  get problemInFront(): number | null {
    return this.panel.isInFront ? (this.panel.session?.activeProblem ?? null) : null;
  }

  /** Closes the panel if it shows a run that was deleted. */
  closeRun(run: string): void {
    if (this.panel.session?.shownRun === run) {
      this.panel.close();
    }
  }

  /**
   * Shows the episodes of a run, or of the last shown or newest run if null.
   * @param note an instruction for the user in one sentence, or null
   */
  open(run: string | null, note: string | null = null): void {
    this.panel.open({ run, note });
  }

  /** Restores the panel after a reload. */
  restore(tab: WebviewPanel, state: unknown): void {
    this.panel.restore(tab, (wanted) => ({
      run: wanted?.run ?? (isEpisodesState(state) ? state.run : null),
      note: wanted?.note ?? null,
    }));
  }
}

function beginEpisodesSession(
  opening: EpisodesOpening,
  page: Page<EpisodesFromHost>,
  services: Services,
  { keeper, classesOf, openTranscript }: EpisodesParts,
): EpisodesSession {
  return new EpisodesSession(opening, page, {
    reader: () => services.store.reader(),
    keeper,
    statusOf: (record, path) => shownStatus(record, isBeingWritten(path)),
    classesOf,
    lostProblems: (run) => askForLostProblems(services, run),
    askForName: () =>
      Promise.resolve(
        window.showInputBox({
          title: 'Save filter',
          prompt: 'A name for the current filters and sort order',
          validateInput: (name) =>
            name.length > FILTER_NAME_LIMIT ? `At most ${FILTER_NAME_LIMIT} characters.` : null,
        }),
      ),
    save: saveTable,
    say: (words) => void window.showInformationMessage(words),
    openTranscript,
    command: runCommand,
    later: (work, milliseconds) => {
      const timer = setTimeout(work, milliseconds);
      return { dispose: () => clearTimeout(timer) };
    },
  });
}

/**
 * Asks the engine for lost problems. Returns none if it cannot answer, as in an untrusted workspace:
 * the list is useful without them.
 */
async function askForLostProblems({ engine, log }: Services, run: string): Promise<readonly LostProblemRow[]> {
  if (engine.unavailable() !== null) {
    return [];
  }
  try {
    return await engine.client().lostProblems({ run });
  } catch (error) {
    log.error(`Findings on lost problems cannot be shown: ${toErrorMessage(error)}`);
    return [];
  }
}
