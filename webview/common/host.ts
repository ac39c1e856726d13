/** The interface between a panel and the program that shows its page. */
/// <reference types="vscode-webview" />
import { isRecord } from '../../src/shared/guard.ts';

type Message = { readonly type: string };

/** A handler for each type of message from the host. */
export type MessageHandlers<FromHost extends Message> = {
  readonly [Type in FromHost['type']]: (message: Extract<FromHost, { readonly type: Type }>) => void;
};

export interface Host<ToHost> {
  readonly post: (message: ToHost) => void;
  /** Passes each message of the host to its handler. Ignores messages of other types. */
  listen<FromHost extends Message>(handlers: MessageHandlers<FromHost>): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** Returns the editor as the host. A page may call this only once. */
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

/**
 * Returns true if a message has a type with a handler. The rest of the message is not checked, because
 * the host is a part of this extension.
 */
export const isHandled = <FromHost extends Message, Type extends FromHost['type']>(
  handlers: MessageHandlers<FromHost>,
  data: unknown,
): data is Extract<FromHost, { readonly type: Type }> & { readonly type: Type } =>
  isRecord(data) && typeof data['type'] === 'string' && Object.hasOwn(handlers, data['type']);
