/** The seam between a web page and whatever holds it: panels take a Host, so that any page can bring its own. */
/// <reference types="vscode-webview" />
import type { Guard } from '../../src/shared/guard.ts';

export interface Host<ToHost> {
  post(message: ToHost): void;
  /** Calls back for every message from outside that passes the guard. */
  listen<FromHost>(guard: Guard<FromHost>, listener: (message: FromHost) => void): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** The editor as host; may be asked for once in a page. */
export function editorHost<ToHost>(): Host<ToHost> {
  const api = acquireVsCodeApi();
  return {
    post: (message) => {
      api.postMessage(message);
    },
    listen: (guard, listener) => {
      window.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
        if (guard(data)) {
          listener(data);
        }
      });
    },
    getState: () => api.getState(),
    setState: (state) => {
      api.setState(state);
    },
  };
}
