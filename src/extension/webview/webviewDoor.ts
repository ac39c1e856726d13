/**
 * The door between a panel and its web page: typed both ways, checked on the way in, open only while the page listens.
 */
import { Uri, window, type ViewColumn, type WebviewPanel } from 'vscode';
import { messageOf } from '../../shared/errors.ts';
import { toHost, type Panel, type ToHost } from '../../shared/protocols/panel.ts';
import { Disposables } from '../common/disposables.ts';
import type { Log } from '../common/log.ts';
import { report } from '../common/report.ts';
import { Newest } from './newest.ts';
import type { Page } from './panelSession.ts';
import { webviewPage } from './webviewPage.ts';

/** What every panel needs to know of the extension. */
export interface DoorContext {
  readonly extensionUri: Uri;
  readonly log: Log;
  /** What to wait for before a page is answered from the store; null for nothing. */
  readonly store: { pending(): Promise<void> | null };
}

export class WebviewDoor<P extends Panel, FromHost extends { readonly type: string }> implements Page<FromHost> {
  readonly panel: WebviewPanel;
  private readonly log: Log;
  private readonly disposables = new Disposables();
  /**
   * A page listens from its "ready" until it is hidden: the editor then throws it away and loads it anew when shown
   * again.
   */
  private listening = false;
  private closed = false;
  private readonly newest = new Newest<FromHost>((message) =>
    this.listening ? this.panel.webview.postMessage(message) : Promise.resolve(false),
  );

  /**
   * Loads the page. The page's first message is "ready", which the panel answers with all that it has to show; so
   * nothing needs to be kept for a page that does not listen.
   */
  constructor(panel: WebviewPanel, kind: P, context: DoorContext, receive: (message: ToHost<P>) => void) {
    this.panel = panel;
    this.log = context.log;
    const { bundle, icon } = kind;
    const guard = toHost(kind);
    const folder = webviewFolder(context.extensionUri);
    const { webview } = panel;
    webview.options = { enableScripts: true, localResourceRoots: [folder] };
    const load = (): void => {
      // The nonces are new each time, so the editor sees another page, and loads it.
      webview.html = webviewPage({
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
          // A page that was thrown away never confirms that something arrived.
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

  /** Whether the page is there to receive it; a hidden one gets everything with its next "ready". */
  get isListening(): boolean {
    return this.listening;
  }

  /** Sends to the page, when it listens. */
  post(message: FromHost): void {
    if (this.listening) {
      void this.panel.webview.postMessage(message);
    }
  }

  /** Sends to the page what makes earlier messages of its type stale. */
  postNewest(message: FromHost): void {
    if (this.listening) {
      this.newest.post(message);
    }
  }

  /** Shows in a notification what went wrong, and notes it in the log. */
  report(error: unknown): void {
    void report(error, this.log);
  }

  /** Shows it in the page. */
  fail(error: unknown): void {
    const message = messageOf(error);
    this.log.error(message);
    if (this.listening) {
      void this.panel.webview.postMessage({ type: 'failed', message });
    }
  }
}

/** Makes the tab of a panel; a WebviewDoor then loads its page. */
export function createPanel(
  { view, title }: Panel,
  { extensionUri }: Pick<DoorContext, 'extensionUri'>,
  where: ViewColumn | { readonly viewColumn: ViewColumn; readonly preserveFocus: boolean },
): WebviewPanel {
  return window.createWebviewPanel(view, title, where, {
    enableScripts: true,
    localResourceRoots: [webviewFolder(extensionUri)],
  });
}

/** Where the bundles of the panels lie; nothing else can be loaded by them. */
function webviewFolder(extensionUri: Uri): Uri {
  return Uri.joinPath(extensionUri, 'dist', 'webview');
}

/**
 * Loads a page again that stays blank: the editor answers a page's requests for its script and style within 30 seconds
 * or never, and a page whose script did not come has no other way to ask again.
 */

/** Longer than the editor waits for a resource, so that a load that is still in progress is left alone. */
const FIRST_WAIT = 45_000;
/** Each wait is twice the one before it: on a machine that is only slow, the page gets there. */
const MOST_RELOADS = 3;

class BlankPage {
  private readonly reload: () => void;
  private readonly giveUp: () => void;
  private reloads = 0;
  private timer: NodeJS.Timeout | null = null;

  /**
   * @param reload what loads the page anew
   * @param giveUp called when the page stayed blank after the last reload
   */
  constructor(reload: () => void, giveUp: () => void) {
    this.reload = reload;
    this.giveUp = giveUp;
  }

  /** The page is loading where it can be seen; waits for it, unless it is waited for already. */
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

  /** The page has loaded: what fails after this is counted anew. */
  loaded(): void {
    this.stop();
    this.reloads = 0;
  }

  /** The page is hidden or closed: the editor loads it anew when it is shown again. */
  stop(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
  }
}
