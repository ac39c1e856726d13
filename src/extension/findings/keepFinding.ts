/** Keeps messages as tests, and goes from such a test to its message. */

import { posix } from 'node:path';
import { ProgressLocation, Uri, window, workspace } from 'vscode';
import { FINDING_DRAWS } from '../../domain/answer.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutLinks } from '../common/plainText.ts';
import { loadService } from '../configuration/load.ts';
import type { Engine } from '../engine/engine.ts';

/** Folder of the findings in the workspace. */
const FOLDER = 'findings';
const OPEN = 'Open';

/** Draws a message again, writes it to the workspace's findings, and offers to open the file. */
export async function keepAsTest(engine: Engine, message: number): Promise<void> {
  const home = workspace.workspaceFolders?.[0]?.uri;
  if (home === undefined) {
    throw new C3Error('input', 'Open a folder first: findings are kept in it.');
  }
  const client = engine.client();
  const out = home.with({ path: posix.join(home.path, FOLDER) }).fsPath;
  const kept = await window.withProgress(
    { location: ProgressLocation.Notification, title: 'Keeping the message as a test', cancellable: true },
    (_, token) => client.keepFinding({ message, out, draws: FINDING_DRAWS.usual, expect: 'held' }, token),
  );
  const file = Uri.file(kept.file);
  const words = `Kept as the test ${workspace.asRelativePath(file)}. Check it in the view Testing, or with c3 check.`;
  if ((await window.showInformationMessage(withoutLinks(words), OPEN)) === OPEN) {
    await window.showTextDocument(file);
  }
}

/**
 * Shows the message from which a finding was kept.
 * @param argument the argument that the menu of a test or of a file passes
 * @throws C3Error('input') if there is no finding, or its message is not in this store
 */
export async function goToFinding(
  argument: unknown,
  reader: StoreReader,
  show: (message: number) => void,
): Promise<void> {
  const given = isRecord(argument) ? argument['uri'] : undefined;
  const file = given instanceof Uri ? given : window.activeTextEditor?.document.uri;
  const { messageOfFinding } = await loadService();
  const from = file === undefined ? null : messageOfFinding((await workspace.openTextDocument(file)).getText());
  if (from === null) {
    throw new C3Error('input', 'Open a *.finding.yaml, or choose one in the view Testing.');
  }
  // Throws if the run is not in this store, where the number could be that of another message.
  reader.run(from.run);
  show(from.message);
}
