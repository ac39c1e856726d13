/** Shows reports as read-only documents of plain lines. */

import { EventEmitter, Uri, ViewColumn, window, workspace } from 'vscode';
import { Disposables } from './disposables.ts';

const SCHEME = 'c3-report';

export class Reports {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<Uri>());
  /** The newest text of each title, kept until the window closes so that a report can be reopened. */
  private readonly texts = new Map<string, string>();

  constructor() {
    this.disposables.add(
      workspace.registerTextDocumentContentProvider(SCHEME, {
        onDidChange: this.changed.event,
        provideTextDocumentContent: (uri) => this.texts.get(uri.path) ?? '',
      }),
    );
  }

  /** Shows a report under its title, and replaces an older report of the same title. */
  async show(title: string, text: string, column: ViewColumn = ViewColumn.Active): Promise<void> {
    const uri = Uri.from({ scheme: SCHEME, path: `/${title}` });
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true, viewColumn: column });
  }

  dispose(): void {
    this.disposables.dispose();
  }
}
