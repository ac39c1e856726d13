/**
 * The connection between a panel and its web page. Messages are typed in both directions, and those of
 * the page are validated. Messages are sent only while the page is listening.
 */

import { Uri, window, type ViewColumn, type WebviewPanel } from 'vscode';
import { toErrorMessage } from '../../shared/errors.ts';
import { guardToHost, type Panel, type ToHost } from '../../shared/protocols/panel.ts';
import { Disposables } from '../common/disposables.ts';
import type { Log } from '../common/log.ts';
import { showError } from '../common/report.ts';
import { Newest } from './newest.ts';
import type { Page } from './panelSession.ts';
import { createWebviewPage } from './webviewPage.ts';

/** The part of the extension that every connection needs. */
export interface DoorContext {
  readonly extensionUri: Uri;
  readonly log: Log;
  /** Returns a promise to wait for before the store is read, or null. */
  readonly store: { pending(): Promise<void> | null };
}

export class WebviewDoor<P extends Panel, FromHost extends { readonly type: string }> implements Page<FromHost> {
  readonly panel: WebviewPanel;
  private readonly log: Log;
  private readonly disposables = new Disposables();
  /**
   * True from the page's "ready" until it is hidden. The editor then discards the page, and reloads it
   * when it is shown again.
   */
  private listening = false;
  private closed = false;
  private readonly newest = new Newest<FromHost>((message) =>
    this.listening ? this.panel.webview.postMessage(message) : Promise.resolve(false),
  );

  /**
   * Loads the page. Its first message is "ready", which the panel answers with its whole content, so
   * that no messages need to be kept for a page that is not listening.
   */
  constructor(panel: WebviewPanel, kind: P, context: DoorContext, receive: (message: ToHost<P>) => void) {
    this.panel = panel;
    this.log = context.log;
    const { bundle, icon } = kind;
    const guard = guardToHost(kind);
    const folder = findWebviewFolder(context.extensionUri);
    const { webview } = panel;
    webview.options = { enableScripts: true, localResourceRoots: [folder] };
    const load = (): void => {
      // New nonces make the HTML differ each time, so that the editor loads it again.
      webview.html = createWebviewPage({
        title: panel.title,
        cspSource: webview.cspSource,
        script: webview.asWebviewUri(Uri.joinPath(folder, `${bundle}.js`)).toString(),
        style: webview.asWebviewUri(Uri.joinPath(folder, `${bundle}.css`)).toString(),
      });
    };
    const blank = new BlankPage(
      () => {
        context.log.error(`${bundle}: the page did not load; it is loaded again`);
        load();
      },
      () =>
        context.log.error(`${bundle}: the page did not load; close its tab and open it again, or reload the window`),
    );
    this.disposables.add(
      webview.onDidReceiveMessage((message: unknown) => {
        if (!guard(message)) {
          context.log.error(`${bundle}: a message of the panel was refused because it does not follow the protocol`);
          return;
        }
        if (message.type === 'ready') {
          // A discarded page never confirms messages in transit.
          if (!this.listening) {
            this.newest.forget();
          }
          this.listening = true;
          blank.loaded();
        }
        const pending = context.store.pending();
        if (pending === null) {
          receive(message);
          return;
        }
        void pending.then(() => {
          if (!this.closed) {
            receive(message);
          }
        });
      }),
    );
    this.disposables.add(
      panel.onDidChangeViewState(() => {
        if (!panel.visible) {
          this.listening = false;
          blank.stop();
        } else if (!this.listening) {
          blank.loading();
        }
      }),
    );
    this.disposables.add(
      panel.onDidDispose(() => {
        this.listening = false;
        this.closed = true;
        blank.stop();
        this.disposables.dispose();
      }),
    );
    const iconOf = (theme: 'light' | 'dark'): Uri =>
      Uri.joinPath(context.extensionUri, 'media', `${icon}-${theme}.svg`);
    panel.iconPath = { light: iconOf('light'), dark: iconOf('dark') };
    load();
    if (panel.visible) {
      blank.loading();
    }
  }

  /** True if the page can receive messages. A hidden page gets everything after its next "ready". */
  get isListening(): boolean {
    return this.listening;
  }

  /** Sends a message if the page is listening. */
  post(message: FromHost): void {
    if (this.listening) {
      void this.panel.webview.postMessage(message);
    }
  }

  /** Sends a message that makes earlier ones of its type obsolete, if the page is listening. */
  postNewest(message: FromHost): void {
    if (this.listening) {
      this.newest.post(message);
    }
  }

  /** Shows an error in a notification, and logs it. */
  report(error: unknown): void {
    void showError(error, this.log);
  }

  /** Shows an error in the page, and logs it. */
  fail(error: unknown): void {
    const message = toErrorMessage(error);
    this.log.error(message);
    if (this.listening) {
      void this.panel.webview.postMessage({ type: 'failed', message });
    }
  }
}

/** Creates the tab of a panel. A WebviewDoor then loads its page. */
export function createPanel(
  { view, title }: Panel,
  { extensionUri }: Pick<DoorContext, 'extensionUri'>,
  where: ViewColumn | { readonly viewColumn: ViewColumn; readonly preserveFocus: boolean },
): WebviewPanel {
  return window.createWebviewPanel(view, title, where, {
    enableScripts: true,
    localResourceRoots: [findWebviewFolder(extensionUri)],
  });
}

/** Returns the folder of the panels' bundles, the only folder from which they can load resources. */
function findWebviewFolder(extensionUri: Uri): Uri {
  return Uri.joinPath(extensionUri, 'dist', 'webview');
}

// Reloading a page that stays blank. The editor answers a page's requests for its script and style
// within 30 seconds or never, and a page without its script cannot repeat them.

/** Milliseconds before the first reload: longer than the editor waits for a resource. */
const FIRST_WAIT = 45_000;
/** Maximum number of reloads. Each wait is twice as long as the last, for slow machines. */
const MOST_RELOADS = 3;

class BlankPage {
  private readonly reload: () => void;
  private readonly giveUp: () => void;
  private reloads = 0;
  private timer: NodeJS.Timeout | null = null;

  /**
   * @param reload loads the page again
   * @param giveUp called when the page stays blank after the last reload
   */
  constructor(reload: () => void, giveUp: () => void) {
    this.reload = reload;
    this.giveUp = giveUp;
  }

  /** Starts to wait for a visible page that is loading, unless a wait is in progress. */
  loading(): void {
    this.timer ??= setTimeout(
      () => {
        this.timer = null;
        if (this.reloads === MOST_RELOADS) {
          this.giveUp();
          return;
        }
        this.reloads++;
        this.reload();
        this.loading();
      },
      FIRST_WAIT * 2 ** this.reloads,
    ).unref();
  }

  /** Ends the wait after the page has loaded, and resets the count of reloads. */
  loaded(): void {
    this.stop();
    this.reloads = 0;
  }

  /** Ends the wait, as for a page that is hidden or closed. The editor reloads it when it is shown again. */
  stop(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
  }
}
