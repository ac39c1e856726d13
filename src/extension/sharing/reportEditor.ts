/**
 * Exported reports as the editor shows them: a read-only editor of the file itself, so that its tab comes back after a
 * reload, and follows when the file is written anew.
 */
import { posix } from 'node:path';
import {
  RelativePattern,
  Uri,
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

class ReportEditor implements CustomReadonlyEditorProvider {
  openCustomDocument(uri: Uri): CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor({ uri }: CustomDocument, panel: WebviewPanel): Promise<void> {
    const name = posix.basename(uri.path);
    // For its tab, and for who hears what the frame is.
    panel.title = `Report ${name}`;
    panel.webview.options = { enableScripts: false, localResourceRoots: [] };
    const draw = async (): Promise<void> => {
      panel.webview.html = shownInEditor(name, await contentOf(uri));
    };
    const watcher = workspace.createFileSystemWatcher(
      new RelativePattern(Uri.joinPath(uri, '..'), name.replaceAll(/[*?{}[\]]/gu, '[$&]')),
    );
    const again = (): void => {
      void draw();
    };
    watcher.onDidChange(again);
    watcher.onDidCreate(again);
    watcher.onDidDelete(again);
    panel.onDidDispose(() => {
      watcher.dispose();
    });
    await draw();
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
