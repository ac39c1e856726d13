/** The failure taxonomy panels, one for each run. */

import { ViewColumn, type WebviewPanel } from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { isTaxonomyState, TAXONOMY_PANEL, type TaxonomyFromHost } from '../../shared/protocols/taxonomyProtocol.ts';
import type { Services } from '../services.ts';
import type { Page } from '../webview/panelSession.ts';
import { openSession } from '../webview/panels.ts';
import { createPanel } from '../webview/webviewDoor.ts';
import { TaxonomySession } from './taxonomySession.ts';

export class TaxonomyPanels {
  private readonly services: Services;
  private readonly openMessage: (message: number) => void;
  private readonly panels = new Map<string, WebviewPanel>();

  /** @param openMessage shows a case in its transcript */
  constructor(services: Services, openMessage: (message: number) => void) {
    this.services = services;
    this.openMessage = openMessage;
  }

  /** The run whose panel is the active editor, or null. */
  get runInFront(): string | null {
    return [...this.panels].find(([, panel]) => panel.active)?.[0] ?? null;
  }

  /** Closes the taxonomy of a run that was deleted. */
  closeRun(run: string): void {
    this.panels.get(run)?.dispose();
  }

  open(run: string): void {
    const present = this.panels.get(run);
    if (present !== undefined) {
      present.reveal();
      return;
    }
    const panel = createPanel(TAXONOMY_PANEL, this.services, ViewColumn.Active);
    this.adopt(panel, run);
  }

  /** Restores a panel after a reload, or closes it if its state is invalid. */
  restore(panel: WebviewPanel, state: unknown): void {
    if (isTaxonomyState(state)) {
      this.adopt(panel, state.run);
    } else {
      panel.dispose();
    }
  }

  private adopt(panel: WebviewPanel, run: string): void {
    const { services, openMessage } = this;
    this.panels.set(run, panel);
    openSession(
      panel,
      TAXONOMY_PANEL,
      services,
      (page: Page<TaxonomyFromHost>) =>
        new TaxonomySession(run, page, {
          engine: () => services.engine.client(),
          reader: () => {
            const reader = services.store.reader();
            if (reader === null) {
              throw new C3Error(
                'store',
                'The store of this run no longer exists: open the taxonomy from the Runs view.',
              );
            }
            return reader;
          },
          thresholds: services.thresholds,
          openMessage,
          log: services.log,
        }),
    );
    panel.onDidDispose(() => this.panels.delete(run));
  }
}
