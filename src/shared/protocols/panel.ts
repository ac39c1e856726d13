/**
 * The description of an editor panel: its protocol file holds it, and a row in extension.ts adds it. A
 * page sends events and requests; each is one entry of a table here, and one of its session.
 */

import { isRecord, literal, object, type Guard, type Guarded } from '../guard.ts';
import { guardRequest, type RequestMessage, type Requests } from './requests.ts';

/** The events that a page sends without waiting for an answer, by type, with their fields. */
export type Events = Readonly<Record<string, Readonly<Record<string, Guard<unknown>>>>>;

export interface Panel<E extends Events = Events, R extends Requests = Requests> {
  /** The view type under which the editor keeps its tabs; `package.json` activates the extension for it. */
  readonly view: string;
  /** The title of its tab until it has something to show. */
  readonly title: string;
  /** Its folder in webview/, whose main.ts is its page; the bundle in dist/webview has the same name. */
  readonly bundle: string;
  /** Its icon: media/ICON-light.svg and media/ICON-dark.svg. */
  readonly icon: string;
  readonly events: E;
  readonly requests: R;
}

/** An event on its way to the host. */
export type PanelEvent<E extends Events, Type extends keyof E & string = keyof E & string> = {
  readonly [T in Type]: { readonly type: T } & { readonly [Key in keyof E[T]]: Guarded<E[T][Key]> };
}[Type];

/** All messages that the page of a panel may send. */
export type ToHost<P extends Panel> = PanelEvent<P['events']> | RequestMessage<P['requests']>;

/** Returns a guard for the messages of the panel's page; all others are refused. */
export function guardToHost<P extends Panel>({ events, requests }: P): Guard<ToHost<P>> {
  const isRequest = guardRequest(requests);
  const guards = new Map(
    Object.entries(events).map(([type, carried]) => [type, object({ type: literal(type), ...carried })]),
  );
  return (value): value is ToHost<P> =>
    isRequest(value) ||
    (isRecord(value) && typeof value['type'] === 'string' && guards.get(value['type'])?.(value) === true);
}
