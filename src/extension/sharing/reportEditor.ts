/**
 * Exported reports as the editor shows them: a read-only editor of the file itself, so that its tab comes back after a
 * reload, and follows when the file is written anew.
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

/** A longer file is no report that anybody could read. */
const MOST_BYTES = 100_000_000;
/** How often it is looked whether the file was written anew, while the report is in sight. */
const LOOK_MILLISECONDS = 1000;

class ReportEditor implements CustomReadonlyEditorProvider {
  openCustomDocument(uri: Uri): CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor({ uri }: CustomDocument, panel: WebviewPanel): Promise<void> {
    const name = posix.basename(uri.path);
    // For its tab, and for who hears what the frame is.
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
      // Before it is read, so that what is written meanwhile shows at the next look.
      const stamp = await stampOf(uri);
      if (stamp !== drawn) {
        const page = shownInEditor(name, await contentOf(uri));
        if (!isClosed) {
          panel.webview.html = page;
          drawn = stamp;
        }
      }
      isBusy = false;
    };
    // A watcher of the editor's begins some time after it was asked for, and says nothing of what was written before.
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

/** What changes when a file is written; null where there is none. */
async function stampOf(uri: Uri): Promise<string | null> {
  try {
    const { mtime, size } = await workspace.fs.stat(uri);
    return `${mtime} ${size}`;
  } catch {
    return null;
  }
}

/** The text of a file; null where there is none, or too much of it. */
async function contentOf(uri: Uri): Promise<string | null> {
  try {
    if ((await workspace.fs.stat(uri)).size > MOST_BYTES) {
      return '';
    }
    return new TextDecoder().decode(await workspace.fs.readFile(uri));
  } catch {
    return null;
  }
}

/** Lets the editor show reports. */
export function registerReportEditor(): Disposable {
  return window.registerCustomEditorProvider(REPORT_EDITOR, new ReportEditor(), {
    supportsMultipleEditorsPerDocument: true,
  });
}
