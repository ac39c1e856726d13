/** The failure taxonomy panels, one for each run. */
import { ViewColumn, window, type WebviewPanel } from 'vscode';
import { C3Error, messageOf } from '../shared/errors.ts';
import type { TaxonomyClass } from '../shared/records.ts';
import { isTaxonomyState, isTaxonomyToHost, type TaxonomyFromHost, type TaxonomyToHost } from '../shared/taxonomyProtocol.ts';
import type { Services } from './services.ts';
import { webviewFolder, WebviewDoor } from './webviewDoor.ts';

export const TAXONOMY_VIEW = 'c3.taxonomy';

export class TaxonomyPanels {
  private readonly services: Services;
  private readonly openMessage: (message: number) => void;
  private readonly panels = new Map<string, TaxonomyPanel>();

  /** @param openMessage shows a case in its transcript */
  constructor(services: Services, openMessage: (message: number) => void) {
    this.services = services;
    this.openMessage = openMessage;
  }

  /** Shows the taxonomy of a run. */
  open(run: string): void {
    const present = this.panels.get(run);
    if (present !== undefined) {
      present.panel.reveal();
      return;
    }
    const panel = window.createWebviewPanel(TAXONOMY_VIEW, 'Failure taxonomy', ViewColumn.Active, {
      enableScripts: true,
      localResourceRoots: [webviewFolder(this.services.extensionUri)],
    });
    this.adopt(panel, run);
  }

  /** Brings a panel back after a reload; one whose state cannot be read is closed. */
  restore(panel: WebviewPanel, state: unknown): void {
    if (isTaxonomyState(state)) this.adopt(panel, state.run);
    else panel.dispose();
  }

  private adopt(panel: WebviewPanel, run: string): void {
    this.panels.set(run, new TaxonomyPanel(panel, this.services, run, this.openMessage));
    panel.onDidDispose(() => { this.panels.delete(run); });
  }
}

class TaxonomyPanel {
  readonly panel: WebviewPanel;
  private readonly services: Services;
  private readonly run: string;
  private readonly door: WebviewDoor<TaxonomyToHost, TaxonomyFromHost>;
  private classes: readonly TaxonomyClass[] | null = null;
  private working = false;

  constructor(panel: WebviewPanel, services: Services, run: string, openMessage: (message: number) => void) {
    this.panel = panel;
    this.services = services;
    this.run = run;
    this.door = new WebviewDoor(panel, 'taxonomy', services, isTaxonomyToHost, (message) => {
      if (message.type === 'open') openMessage(message.message);
      else void this.show(message.type === 'refresh');
    });
  }

  /** Sends what is known; classifies when nothing is, or when it is asked to. */
  private async show(again: boolean): Promise<void> {
    try {
      this.tellRun();
      if (this.classes !== null && !again) {
        this.door.post({ type: 'classes', run: this.run, classes: this.classes });
        return;
      }
      this.door.post({ type: 'working', run: this.run });
      if (this.working) return;
      this.working = true;
      this.classes = await this.services.engine.client().taxonomy(this.run).finally(() => { this.working = false; });
      this.door.post({ type: 'classes', run: this.run, classes: this.classes });
    } catch (error) {
      this.services.log.error(messageOf(error));
      this.door.post({ type: 'failed', message: messageOf(error) });
    }
  }

  private tellRun(): void {
    const reader = this.services.store.reader();
    if (reader === null) throw new C3Error('store', 'The store of this run is gone: open the taxonomy from the Runs view.');
    const run = reader.run(this.run);
    this.door.post({ type: 'opened', run: run.id, title: 'Failure taxonomy', subtitle: run.title });
  }
}
