/**
 * The episodes panel: the home of a run, one row for each of its problems. One panel, which shows the run chosen in it.
 */
import { commands, ViewColumn, window, type Tab, type WebviewPanel } from 'vscode';
import {
  FILTER_NAME_LIMIT,
  isEpisodesState,
  EPISODES_PANEL,
  type EpisodesFromHost,
  type EpisodesToHost,
} from '../../shared/protocols/episodesProtocol.ts';
import { shownStatus } from '../../domain/run.ts';
import type { TranscriptTarget } from '../../shared/protocols/transcriptProtocol.ts';
import { Disposables } from '../common/disposables.ts';
import { EpisodesSession, type ProblemClasses } from './episodesSession.ts';
import { bringBack, tabsOfPanel } from '../webview/keptTabs.ts';
import type { ListKeeper } from '../model/modelFolders.ts';
import { report } from '../common/report.ts';
import { saveTable } from '../common/saveTable.ts';
import type { Services } from '../services.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import { createPanel, WebviewDoor } from '../webview/webviewDoor.ts';

const COMMANDS = {
  dashboard: 'c3.openDashboard',
  taxonomy: 'c3.inspectTaxonomy',
  runsTable: 'c3.openRunsTable',
  startRun: 'c3.startRun',
} as const;

export interface EpisodesParts {
  /** Keeps saved filters. */
  readonly keeper: ListKeeper;
  readonly classesOf: (run: string) => Promise<ProblemClasses>;
  readonly openTranscript: (target: TranscriptTarget, message: number, beside: boolean) => void;
}

/** What a panel is opened with. */
interface Opening {
  /** Null: the run looked at last, or the newest. */
  readonly run: string | null;
  readonly note: string | null;
}

export class Episodes {
  private readonly services: Services;
  private readonly parts: EpisodesParts;
  private panel: WebviewPanel | null = null;
  private session: EpisodesSession | null = null;
  /** What a tab that is being brought back shall show; null for what it showed. */
  private wanted: Opening | null = null;

  constructor(services: Services, parts: EpisodesParts) {
    this.services = services;
    this.parts = parts;
  }

  /** Whether the panel is there. */
  get isOpen(): boolean {
    return this.panel !== null;
  }

  /** The run that is shown, where the panel is the editor in front. */
  get runInFront(): string | null {
    return this.panel?.active === true ? (this.session?.shownRun ?? null) : null;
  }

  /** Closes the panel where it shows a run that was deleted. */
  closeRun(run: string): void {
    if (this.session?.shownRun === run) {
      this.panel?.dispose();
    }
  }

  /**
   * Shows the episodes of a run; of the one looked at last, or the newest, where none is named.
   * @param note what is to be done there, in one sentence; null for nothing
   */
  open(run: string | null, note: string | null = null): void {
    if (this.panel !== null && this.session !== null) {
      this.session.show(run, note);
      this.panel.reveal();
      return;
    }
    const [kept] = tabsOfPanel(EPISODES_PANEL.view);
    if (kept === undefined) {
      this.create({ run, note });
    } else {
      void this.bringBack(kept, { run, note }).catch((error: unknown) => report(error, this.services.log));
    }
  }

  /** Brings the panel back after a reload. */
  restore(panel: WebviewPanel, state: unknown): void {
    if (this.panel !== null) {
      panel.dispose();
      return;
    }
    const { wanted } = this;
    this.wanted = null;
    this.adopt(panel, { run: wanted?.run ?? (isEpisodesState(state) ? state.run : null), note: wanted?.note ?? null });
  }

  /** Shows the tab that was kept over a reload instead of a second one. */
  private async bringBack(tab: Tab, wanted: Opening): Promise<void> {
    this.wanted = wanted;
    if (await bringBack(tab)) {
      return;
    }
    this.wanted = null;
    this.create(wanted);
  }

  private create(opening: Opening): void {
    this.adopt(createPanel(EPISODES_PANEL, this.services, ViewColumn.Active), opening);
  }

  private adopt(panel: WebviewPanel, { run, note }: Opening): void {
    const { services, parts } = this;
    const disposables = new Disposables();
    const session = new EpisodesSession(run, note, {
      reader: () => services.store.reader(),
      keeper: parts.keeper,
      statusOf: (record, path) => shownStatus(record, isBeingWritten(path)),
      classesOf: parts.classesOf,
      askForName: () =>
        Promise.resolve(
          window.showInputBox({
            title: 'Save filter',
            prompt: 'A name for the current filters and sort order',
            validateInput: (name) =>
              name.length > FILTER_NAME_LIMIT ? `At most ${String(FILTER_NAME_LIMIT)} characters.` : null,
          }),
        ),
      save: saveTable,
      say: (words) => {
        void window.showInformationMessage(words);
      },
      post: (message) => {
        door.post(message);
      },
      openTranscript: parts.openTranscript,
      command: (name, of) => {
        void commands.executeCommand(COMMANDS[name], ...(of === null || name === 'startRun' ? [] : [of]));
      },
      failed: (message) => {
        services.log.error(message);
      },
      later: (work, milliseconds) => {
        const timer = setTimeout(work, milliseconds);
        disposables.add({
          dispose: () => {
            clearTimeout(timer);
          },
        });
      },
    });
    const door = new WebviewDoor<EpisodesToHost, EpisodesFromHost>(panel, EPISODES_PANEL, services, (message) => {
      void session.receive(message);
    });
    this.panel = panel;
    this.session = session;
    disposables.add(
      services.store.onDidChange(() => {
        session.storeChanged();
      }),
    );
    disposables.add(
      panel.onDidChangeViewState(() => {
        if (!panel.visible) {
          session.hidden();
        }
      }),
    );
    panel.onDidDispose(() => {
      disposables.dispose();
      this.panel = null;
      this.session = null;
    });
  }
}
