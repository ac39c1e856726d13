/** Tabs of panels: each has a page and a session for as long as it is there. */
import { ViewColumn, type Event, type Tab, type WebviewPanel, commands, TabInputWebview, window } from 'vscode';
import type { Panel } from '../../shared/protocols/panel.ts';
import type { ReplyMessage } from '../../shared/protocols/requests.ts';
import { Disposables } from '../common/disposables.ts';
import { report } from '../common/report.ts';
import { Throttle } from '../common/throttle.ts';
import { receive, type Page, type SessionOf } from './panelSession.ts';
import { createPanel, WebviewDoor, type DoorContext } from './webviewDoor.ts';

/** What every panel needs of the extension. */
interface PanelContext extends DoorContext {
  readonly store: DoorContext['store'] & { readonly onDidChange: Event<void> };
  readonly runs: { readonly onDidChange: Event<unknown> };
}

/** What a host may send to any page. */
type FromHost = { readonly type: string };

/** Loads the page of a tab and joins it to a session until the tab is closed. */
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
    (message) => void receive(session, message, door),
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

/** What the one panel of its kind shows. */
interface Showing<Opening> {
  /** Shows something else. */
  show(opening: Opening): void;
}

/** The one panel of its kind that a window has. */
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
  /** What a kept tab shows once it is back; null for what it showed before. */
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

  /** What is behind the panel; null where it is not there. */
  get session(): Opened | null {
    return this.opened;
  }

  /** Whether it is the editor in front. */
  get isInFront(): boolean {
    return this.tab?.active === true;
  }

  /** Shows it in front: the panel that is there, the tab that was kept over a reload, or a new one. */
  open(opening: Opening): void {
    if (this.tab !== null && this.opened !== null) {
      this.opened.show(opening);
      this.tab.reveal();
      return;
    }
    const [kept] = tabsOfPanel(this.kind.view);
    if (kept === undefined) {
      this.create(opening);
    } else {
      void this.bringBack(kept, opening).catch((error: unknown) => report(error, this.context.log));
    }
  }

  /**
   * Brings the panel back after a reload; a second tab of it, which a window may have kept, goes.
   * @param choose what it shows, from what was asked for meanwhile, null for nothing; null closes the tab
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

  /** Shows the tab that was kept over a reload instead of a second one. */
  private async bringBack(kept: Tab, opening: Opening): Promise<void> {
    this.wanted = opening;
    if (await bringBack(kept)) {
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

// Tabs that the editor kept over a reload and whose panels it brings back only when they are seen.

/** How the groups of a window are focused, by their column. */
const GROUPS = ['First', 'Second', 'Third', 'Fourth', 'Fifth', 'Sixth', 'Seventh', 'Eighth'] as const;

/** The tabs of a kind of panel; the editor puts a prefix of its own before the kind. */
function tabsOfPanel(viewType: string): readonly Tab[] {
  return window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof TabInputWebview && input.viewType.endsWith(viewType));
}

/**
 * Shows the tab of a kind of panel that was kept over a reload, instead of a second one beside it.
 * @returns false where it cannot be shown: it is closed then
 */
async function bringBack(tab: Tab): Promise<boolean> {
  if (await showTab(tab)) {
    return true;
  }
  await window.tabGroups.close(tab);
  return false;
}

/** Shows a tab, so that the editor brings its panel back. @returns false where the editor has no way to it */
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
