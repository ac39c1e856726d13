/** A client that is a window, as one that asks the chat models of VS Code. */
import { CancellationTokenSource, ErrorCodes, ResponseError, type MessageConnection } from 'vscode-jsonrpc/node';
import { onAbort, throwIfAborted } from '../../shared/cancellation.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import {
  EditorAnswerRequest,
  EditorOpenRequest,
  EditorWaitRequest,
  type EditorFailure,
  type EditorModels,
} from '../../shared/protocols/editorProtocol.ts';
import { WindowGone } from '../models/editorWindows.ts';

/** What is said of a connection that is ending, and by no window. */
const OF_CONNECTION: ReadonlySet<number> = new Set([
  ErrorCodes.MessageWriteError,
  ErrorCodes.MessageReadError,
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
]);

/** @param gone aborts when the client goes */
export function clientWindow(connection: MessageConnection, gone: AbortSignal): EditorModels {
  /** Waits for an answer, or for the end of the client. */
  const asked = async <Result>(
    send: (token: CancellationTokenSource['token']) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result | EditorFailure> => {
    throwIfAborted(signal);
    const source = new CancellationTokenSource();
    const left = Promise.withResolvers<never>();
    const releases = [
      onAbort(signal, () => {
        source.cancel();
        left.reject(new CancelledError());
      }),
      onAbort(gone, () => left.reject(new WindowGone())),
    ];
    try {
      return await Promise.race([send(source.token), left.promise]);
    } catch (error) {
      if (error instanceof ResponseError && error.code === ErrorCodes.MethodNotFound) {
        return { kind: 'missing', words: '' };
      }
      if (error instanceof CancelledError) {
        throw error;
      }
      throw error instanceof ResponseError && !gone.aborted && !OF_CONNECTION.has(error.code)
        ? new C3Error('engine', `A window of VS Code could not answer: ${error.message}`, { cause: error })
        : new WindowGone();
    } finally {
      for (const release of releases) {
        release();
      }
    }
  };
  return {
    open: (params, signal) => asked((token) => connection.sendRequest(EditorOpenRequest, params, token), signal),
    answer: (question, signal) =>
      asked((token) => connection.sendRequest(EditorAnswerRequest, question, token), signal),
    askWait: (wait, signal) => asked((token) => connection.sendRequest(EditorWaitRequest, wait, token), signal),
  };
}
