/**
 * Shows exported reports in a read-only editor of the file. Its tab returns after a reload, and it
 * follows changes of the file.
 */

import { posix } from 'node:path';
import {
  type Uri,
  window,
  workspace,
  type CustomDocument,
  type CustomReadonlyEditorProvider,
  type Disposable,
  type WebviewPanel,
} from 'vscode';
import { shownInEditor } from '../../report/report.ts';

export const REPORT_EDITOR = 'c3.report';

/** Maximum size of a report, in bytes. */
const MOST_BYTES = 100_000_000;
/** Interval at which a visible report checks its file for changes. */
const LOOK_MILLISECONDS = 1000;

class ReportEditor implements CustomReadonlyEditorProvider {
  openCustomDocument(uri: Uri): CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor({ uri }: CustomDocument, panel: WebviewPanel): Promise<void> {
    const name = posix.basename(uri.path);
    // For the tab and for screen readers.
    panel.title = `Report ${name}`;
    panel.webview.options = { enableScripts: false, localResourceRoots: [] };
    let drawn: string | null | undefined;
    let isClosed = false;
    let isBusy = false;
    const look = async (): Promise<void> => {
      if (isBusy || !panel.visible) {
        return;
      }
      isBusy = true;
      // The stamp is read before the content, so that a write in between shows at the next check.
      const stamp = await readStamp(uri);
      if (stamp !== drawn) {
        const page = shownInEditor(name, await readReportText(uri));
        if (!isClosed) {
          panel.webview.html = page;
          drawn = stamp;
        }
      }
      isBusy = false;
    };
    // Polls, since a file watcher of the editor starts late and misses writes before its start.
    const timer = setInterval(() => void look(), LOOK_MILLISECONDS);
    const shown = panel.onDidChangeViewState(() => void look());
    panel.onDidDispose(() => {
      isClosed = true;
      clearInterval(timer);
      shown.dispose();
    });
    await look();
  }
}

/** Returns a stamp that changes when the file is written, or null if there is no file. */
async function readStamp(uri: Uri): Promise<string | null> {
  try {
    const { mtime, size } = await workspace.fs.stat(uri);
    return `${mtime} ${size}`;
  } catch {
    return null;
  }
}

/** Returns the text of a file, an empty text if the file is too large, or null if it cannot be read. */
async function readReportText(uri: Uri): Promise<string | null> {
  try {
    if ((await workspace.fs.stat(uri)).size > MOST_BYTES) {
      return '';
    }
    return new TextDecoder().decode(await workspace.fs.readFile(uri));
  } catch {
    return null;
  }
}

export function registerReportEditor(): Disposable {
  return window.registerCustomEditorProvider(REPORT_EDITOR, new ReportEditor(), {
    supportsMultipleEditorsPerDocument: true,
  });
}
