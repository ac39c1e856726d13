/** "Check this machine": asks the engine and shows its report as a read-only document. */
import { EventEmitter, ProgressLocation, Uri, window, workspace } from 'vscode';
import { Disposables } from './disposables.ts';
import { doctorText } from './doctorReport.ts';
import type { Engine } from './engine.ts';

const SCHEME = 'c3-report';
const REPORT = Uri.parse(`${SCHEME}:/C3 doctor`);

export class Doctor {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<Uri>());
  private readonly engine: Engine;
  private text = '';

  constructor(engine: Engine) {
    this.engine = engine;
    this.disposables.add(workspace.registerTextDocumentContentProvider(SCHEME, { onDidChange: this.changed.event, provideTextDocumentContent: () => this.text }));
  }

  /** Runs the checks and shows what they found. */
  async run(): Promise<void> {
    const report = await window.withProgress({ location: ProgressLocation.Window, title: 'C3: checking this machine' }, () => this.engine.client().doctor());
    this.text = doctorText(report);
    this.changed.fire(REPORT);
    await window.showTextDocument(await workspace.openTextDocument(REPORT), { preview: true });
  }

  dispose(): void {
    this.disposables.dispose();
  }
}
