/** The command "Export report", which saves a run or a message as one file. */

import { basename, posix } from 'node:path';
import { commands, env, ProgressLocation, UIKind, window, workspace, type Uri } from 'vscode';
import { findingReport, reportJson, reportPage, runReport } from '../../report/report.ts';
import type { Subject } from '../../shared/links.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutLinks } from '../common/plainText.ts';
import { findBucketMessage } from './links.ts';
import { REPORT_EDITOR } from './reportEditor.ts';

/** Asks for a file, writes the report and offers to open it. Writes nothing if the user cancels. */
export async function exportReport(reader: StoreReader, subject: Subject): Promise<void> {
  const target = await window.showSaveDialog({
    title: 'Export report',
    saveLabel: 'Export',
    ...proposeReportFile(subject),
    filters: { 'Web page': ['html'], 'Data (JSON)': ['json'] },
  });
  if (target === undefined) {
    return;
  }
  const json = target.path.toLowerCase().endsWith('.json');
  await window.withProgress({ location: ProgressLocation.Window, title: 'Exporting the report' }, async () => {
    const found =
      subject.kind === 'run'
        ? runReport(reader, subject.run)
        : findingReport(reader, subject.kind === 'message' ? subject.id : (findBucketMessage(reader, subject.id) ?? 0));
    await workspace.fs.writeFile(target, new TextEncoder().encode(json ? reportJson(found) : reportPage(found)));
  });
  const open = 'Open';
  if (
    (await window.showInformationMessage(withoutLinks(`The report was saved as ${basename(target.path)}.`), open)) !==
    open
  ) {
    return;
  }
  if (json) {
    await commands.executeCommand('vscode.open', target);
  } else {
    await showReportFile(target);
  }
}

/**
 * Opens a page in the browser if the file is on the user's machine. Otherwise opens it in the editor,
 * which can show files of a remote machine.
 */
async function showReportFile(target: Uri): Promise<void> {
  const here = env.uiKind === UIKind.Desktop && env.remoteName === undefined;
  if (here && (await env.openExternal(target))) {
    return;
  }
  await commands.executeCommand('vscode.openWith', target, REPORT_EDITOR);
}

/** Proposes a file in the workspace folder, named after the subject. */
function proposeReportFile(subject: Subject): { readonly defaultUri?: Uri } {
  const folder = workspace.workspaceFolders?.[0]?.uri;
  const name = `${subject.kind}-${subject.kind === 'run' ? subject.run : String(subject.id)}`
    .replaceAll(/[^\w.-]/gu, '_')
    .slice(0, 100);
  return folder === undefined ? {} : { defaultUri: folder.with({ path: posix.join(folder.path, `${name}.html`) }) };
}
