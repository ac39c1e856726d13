/** The runs table: one panel in which the user chooses the runs that the dashboard compares. */

import type { WebviewPanel } from 'vscode';
import { RUNS_PANEL, type RunsTableFromHost } from '../../shared/protocols/runsTable.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import { runCommand } from '../common/runCommand.ts';
import { saveTable } from '../common/saveTable.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import type { Services } from '../services.ts';
import { SinglePanel } from '../webview/panels.ts';
import { RunsTableSession, type RunsTableOpening } from './runsTableSession.ts';

export class RunsTable {
  private readonly panel: SinglePanel<typeof RUNS_PANEL, RunsTableFromHost, RunsTableOpening, RunsTableSession>;

  /**
   * @param keeper storage for the choice of columns
   * @param compare shows runs for comparison in the dashboard
   */
  constructor(services: Services, keeper: ListKeeper, compare: (runs: readonly string[]) => void) {
    this.panel = new SinglePanel(
      RUNS_PANEL,
      services,
      (opening, page) =>
        new RunsTableSession(opening, page, {
          reader: () => services.store.reader(),
          keeper,
          isBeingWritten,
          compare,
          command: runCommand,
          save: saveTable,
        }),
    );
  }

  /** Shows the table. @param selected the run to reveal */
  open(selected: string | null): void {
    this.panel.open({ selected });
  }

  /** Restores the panel after a reload. */
  restore(tab: WebviewPanel): void {
    this.panel.restore(tab, (wanted) => wanted ?? { selected: null });
  }
}
