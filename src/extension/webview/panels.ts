/** Tabs of panels, each with a page and a session until it is closed. */

import { ViewColumn, type Event, type Tab, type WebviewPanel, commands, TabInputWebview, window } from 'vscode';
import type { Panel } from '../../shared/protocols/panel.ts';
import type { ReplyMessage } from '../../shared/protocols/requests.ts';
import { Disposables } from '../common/disposables.ts';
import { showError } from '../common/report.ts';
import { Throttle } from '../common/throttle.ts';
import { receiveMessage, type Page, type SessionOf } from './panelSession.ts';
import { createPanel, WebviewDoor, type DoorContext } from './webviewDoor.ts';

/** The part of the extension that every panel needs. */
interface PanelContext extends DoorContext {
  readonly store: DoorContext['store'] & { readonly onDidChange: Event<void> };
  readonly runs: { readonly onDidChange: Event<unknown> };
}

/** A message to a page. */
type FromHost = { readonly type: string };

/** Loads the page of a tab and connects it with a session until the tab is closed. */
export function openSession<P extends Panel, Sent extends FromHost, Opened extends SessionOf<P>>(
  tab: WebviewPanel,
  kind: P,
  context: PanelContext,
  begin: (page: Page<Sent>) => Opened,
): Opened {
  const disposables = new Disposables();
  const door: WebviewDoor<P, Sent | ReplyMessage> = new WebviewDoor(
    tab,
    kind,
    context,
    (message) => void receiveMessage(session, message, door),
  );
  const session = begin(door);
  const { following } = session;
  disposables.add(
    context.store.onDidChange(() => {
      if (door.isListening) {
        session.storeChanged?.();
      }
    }),
  );
  if (following !== undefined) {
    const throttle = disposables.add(new Throttle(following.milliseconds, following.publish));
    for (const changed of [context.store.onDidChange, context.runs.onDidChange]) {
      disposables.add(
        changed(() => {
          if (door.isListening) {
            throttle.trigger();
          }
        }),
      );
    }
  }
  tab.onDidDispose(() => {
    disposables.dispose();
    session.dispose?.();
  });
  return session;
}

/** A session that can show another subject. */
interface Showing<Opening> {
  /** Shows another subject. */
  show(opening: Opening): void;
}

/** A panel of which a window has at most one. */
export class SinglePanel<
  P extends Panel,
  Sent extends FromHost,
  Opening,
  Opened extends SessionOf<P> & Showing<Opening>,
> {
  private readonly kind: P;
  private readonly context: PanelContext;
  private readonly begin: (opening: Opening, page: Page<Sent>, tab: Pick<WebviewPanel, 'title'>) => Opened;
  private tab: WebviewPanel | null = null;
  private opened: Opened | null = null;
  /** The subject for a tab that is being restored, or null for its previous one. */
  private wanted: Opening | null = null;

  constructor(
    kind: P,
    context: PanelContext,
    begin: (opening: Opening, page: Page<Sent>, tab: Pick<WebviewPanel, 'title'>) => Opened,
  ) {
    this.kind = kind;
    this.context = context;
    this.begin = begin;
  }

  /** The session of the panel, or null if it is closed. */
  get session(): Opened | null {
    return this.opened;
  }

  /** True if the panel is the active editor. */
  get isInFront(): boolean {
    return this.tab?.active === true;
  }

  /** Shows the panel: the open one, a tab kept from before a reload, or a new one. */
  open(opening: Opening): void {
    if (this.tab !== null && this.opened !== null) {
      this.opened.show(opening);
      this.tab.reveal();
      return;
    }
    const [kept] = findPanelTabs(this.kind.view);
    if (kept === undefined) {
      this.create(opening);
    } else {
      void this.bringBack(kept, opening).catch((error: unknown) => showError(error, this.context.log));
    }
  }

  /**
   * Restores the panel after a reload. Closes a second tab of it, which a window may have kept.
   * @param choose returns the subject to show, or null to close the tab; its argument is the subject
   *   that was requested meanwhile, or null
   */
  restore(tab: WebviewPanel, choose: (wanted: Opening | null) => Opening | null): void {
    const opening = this.tab === null ? choose(this.wanted) : null;
    this.wanted = null;
    if (opening === null) {
      tab.dispose();
    } else {
      this.adopt(tab, opening);
    }
  }

  close(): void {
    this.tab?.dispose();
  }

  /** Shows the tab that was kept from before a reload, or a new one if that fails. */
  private async bringBack(kept: Tab, opening: Opening): Promise<void> {
    this.wanted = opening;
    if (await restoreTab(kept)) {
      return;
    }
    this.wanted = null;
    this.create(opening);
  }

  private create(opening: Opening): void {
    this.adopt(createPanel(this.kind, this.context, ViewColumn.Active), opening);
  }

  private adopt(tab: WebviewPanel, opening: Opening): void {
    this.tab = tab;
    this.opened = openSession(tab, this.kind, this.context, (page: Page<Sent>) => this.begin(opening, page, tab));
    tab.onDidDispose(() => {
      this.tab = null;
      this.opened = null;
    });
  }
}

// Tabs that the editor kept from before a reload. It restores their panels only when they become
// visible.

/** Names of the editor groups in the commands that focus them, by column. */
const GROUPS = ['First', 'Second', 'Third', 'Fourth', 'Fifth', 'Sixth', 'Seventh', 'Eighth'] as const;

/** Returns the tabs of a kind of panel. The editor adds its own prefix to the view type. */
function findPanelTabs(viewType: string): readonly Tab[] {
  return window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof TabInputWebview && input.viewType.endsWith(viewType));
}

/**
 * Shows a tab that was kept from before a reload. Closes it if that fails.
 * @returns false if it could not be shown
 */
async function restoreTab(tab: Tab): Promise<boolean> {
  if (await showTab(tab)) {
    return true;
  }
  await window.tabGroups.close(tab);
  return false;
}

/** Shows a tab, so that the editor restores its panel. @returns false if no command can focus it */
async function showTab(tab: Tab): Promise<boolean> {
  const group = GROUPS[tab.group.viewColumn - 1];
  const index = tab.group.tabs.indexOf(tab);
  if (group === undefined || index < 0) {
    return false;
  }
  await commands.executeCommand(`workbench.action.focus${group}EditorGroup`);
  await commands.executeCommand('workbench.action.openEditorAtIndex', index);
  return true;
}
