/** Copies links to runs and messages, and opens them in a window with the same folder. */

import { env, window, workspace, type Disposable, type ExtensionContext, type Uri } from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { formatLink, type Subject } from '../../shared/links.ts';
import { showError } from '../common/report.ts';
import type { Services } from '../services.ts';
import { NO_LINK, findSubjectPlace, parseLink, findFolderFault } from './links.ts';

/** Shows the target of a link. */
export interface LinkViews {
  openRun(run: string): void;
  openMessage(message: number): void;
}

/** Opens links of C3. Shows a warning for any other link, or if its folder or target is missing. */
export function registerLinks(services: Services, views: LinkViews): Disposable {
  return window.registerUriHandler({
    handleUri: async (uri) => {
      try {
        await services.store.pending();
        const fault = followLink(services, uri, views);
        if (fault !== null) {
          await window.showWarningMessage(fault);
        }
      } catch (error) {
        await showError(error, services.log);
      }
    },
  });
}

/** Opens the target of a link. @returns one sentence if it cannot be opened, or null */
function followLink({ store }: Services, uri: Uri, views: LinkViews): string | null {
  const link = parseLink(uri);
  if (link === null) {
    return NO_LINK;
  }
  const wrong = findFolderFault(link.folder, findOpenFolder());
  if (wrong !== null) {
    return wrong;
  }
  const reader = store.reader();
  if (reader === null) {
    return 'This link points to a run, and this folder has no runs yet.';
  }
  const place = findSubjectPlace(reader, link.subject);
  if (typeof place === 'string') {
    return place;
  }
  if (place.message === null) {
    views.openRun(place.run);
  } else {
    views.openMessage(place.message);
  }
  return null;
}

export async function copyLink(extension: ExtensionContext['extension'], subject: Subject): Promise<void> {
  const folder = findOpenFolder();
  if (folder === null) {
    throw new C3Error('input', 'A link needs an open folder: open one first.');
  }
  await env.clipboard.writeText(`${env.uriScheme}://${extension.id}${formatLink({ subject, folder })}`);
  void window.setStatusBarMessage(`The link to this ${subject.kind} was copied to the clipboard.`, 5000);
}

/** Returns the path of the folder whose store is shown, or null. */
function findOpenFolder(): string | null {
  const folder = workspace.workspaceFolders?.[0];
  return folder?.uri.scheme === 'file' ? folder.uri.fsPath : null;
}
