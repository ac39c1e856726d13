/** What describes a panel of the editor: its protocol file holds it, and a row in extension.ts adds it. */
import type { Guard } from '../guard.ts';

export interface Panel<ToHost = unknown> {
  /** The view type under which the editor keeps its tabs; `package.json` activates the extension for it. */
  readonly view: string;
  /** The title of its tab until it has something to show. */
  readonly title: string;
  /** Its folder below webview/, whose main.ts is its page; the bundle in dist/webview has the same name. */
  readonly bundle: string;
  /** Its icon: media/ICON-light.svg and media/ICON-dark.svg. */
  readonly icon: string;
  /** What its page may send: everything else is refused. */
  readonly guard: Guard<ToHost>;
}
