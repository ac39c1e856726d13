/** The seam between a web page and whatever holds it: panels take a Host, so that any page can bring its own. */
/// <reference types="vscode-webview" />

export interface Host<ToHost> {
  post(message: ToHost): void;
  /** Calls back for every message from outside. */
  listen(listener: (message: unknown) => void): void;
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
    listen: (listener) => {
      window.addEventListener('message', (event: MessageEvent<unknown>) => {
        listener(event.data);
      });
    },
    getState: () => api.getState(),
    setState: (state) => {
      api.setState(state);
    },
  };
}
