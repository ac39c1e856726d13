/**
 * The episodes panel: the home of a run, one row for each of its problems. One panel, which shows the run chosen in it.
 */
import { window, type WebviewPanel } from 'vscode';
import type { LostProblemRow } from '../../domain/problem.ts';
import { shownStatus } from '../../domain/run.ts';
import { messageOf } from '../../shared/errors.ts';
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
  /** Keeps saved filters. */
  readonly keeper: ListKeeper;
  readonly classesOf: (run: string) => Promise<ProblemClasses>;
  readonly openTranscript: (target: TranscriptTarget, message: number, beside: boolean) => void;
}

export class Episodes {
  private readonly panel: SinglePanel<typeof EPISODES_PANEL, EpisodesFromHost, EpisodesOpening, EpisodesSession>;

  constructor(services: Services, parts: EpisodesParts) {
    this.panel = new SinglePanel(EPISODES_PANEL, services, (opening, page) => begin(opening, page, services, parts));
  }

  /** Whether the panel is there. */
  get isOpen(): boolean {
    return this.panel.session !== null;
  }

  /** The run that is shown, where the panel is the editor in front. */
  get runInFront(): string | null {
    return this.panel.isInFront ? (this.panel.session?.shownRun ?? null) : null;
  }

  /** The problem with the keyboard, where the panel is the editor in front. */
  get problemInFront(): number | null {
    return this.panel.isInFront ? (this.panel.session?.activeProblem ?? null) : null;
  }

  /** Closes the panel where it shows a run that was deleted. */
  closeRun(run: string): void {
    if (this.panel.session?.shownRun === run) {
      this.panel.close();
    }
  }

  /**
   * Shows the episodes of a run; of the one looked at last, or the newest, where none is named.
   * @param note what is to be done there, in one sentence; null for nothing
   */
  open(run: string | null, note: string | null = null): void {
    this.panel.open({ run, note });
  }

  /** Brings the panel back after a reload. */
  restore(tab: WebviewPanel, state: unknown): void {
    this.panel.restore(tab, (wanted) => ({
      run: wanted?.run ?? (isEpisodesState(state) ? state.run : null),
      note: wanted?.note ?? null,
    }));
  }
}

function begin(
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
    lostProblems: (run) => lostProblems(services, run),
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

/** What the engine says; the list is of use without it, as in a workspace that is not trusted. */
async function lostProblems({ engine, log }: Services, run: string): Promise<readonly LostProblemRow[]> {
  if (engine.unavailable() !== null) {
    return [];
  }
  try {
    return await engine.client().lostProblems({ run });
  } catch (error) {
    log.error(`What was found of lost problems is not shown: ${messageOf(error)}`);
    return [];
  }
}
