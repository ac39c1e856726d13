/** The seam between a web page and whatever holds it: panels take a Host, so that any page can bring its own. */
/// <reference types="vscode-webview" />
import { isRecord } from '../../src/shared/guard.ts';

type Message = { readonly type: string };

/** What a page does with each message of its host. */
export type MessageHandlers<FromHost extends Message> = {
  readonly [Type in FromHost['type']]: (message: Extract<FromHost, { readonly type: Type }>) => void;
};

export interface Host<ToHost> {
  readonly post: (message: ToHost) => void;
  /** Hands every message of the host to its handler; one of another type is none. */
  listen<FromHost extends Message>(handlers: MessageHandlers<FromHost>): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** The editor as host; may be asked for once in a page. */
export function editorHost<ToHost>(): Host<ToHost> {
  const api = acquireVsCodeApi();
  return {
    post: (message) => api.postMessage(message),
    listen: (handlers) => {
      window.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
        if (isHandled(handlers, data)) {
          handlers[data.type](data);
        }
      });
    },
    getState: () => api.getState(),
    setState: (state) => api.setState(state),
  };
}

/** Whether a message is of a type that has a handler; the host is our own, so that its content is as the type says. */
export const isHandled = <FromHost extends Message, Type extends FromHost['type']>(
  handlers: MessageHandlers<FromHost>,
  data: unknown,
): data is Extract<FromHost, { readonly type: Type }> & { readonly type: Type } =>
  isRecord(data) && typeof data['type'] === 'string' && Object.hasOwn(handlers, data['type']);
