/**
 * The client of a store's engine, for a window or a command. It finds or starts the engine when it
 * is first needed, speaks JSON-RPC with it, and finds it again after it ended.
 */

import { CancellationToken, ResponseError, type MessageConnection } from 'vscode-jsonrpc/node';
import { C3Error } from '../shared/errors.ts';
import {
  REQUESTS,
  ShutdownRequest,
  type RequestParams,
  type RequestName,
  type RequestResult,
} from '../shared/protocols/engineProtocol.ts';
import { EngineConnection, toEngineError, type ClientOptions, type EngineEvents } from './engineConnection.ts';

/**
 * A method for each request of the engine, which is started if none is running. The token cancels
 * the work in the engine. Each method throws CancelledError if it was cancelled, and C3Error with
 * the engine's one-line message if it failed or the engine ended.
 */
type EngineRequests = {
  readonly [Name in RequestName]: RequestParams<Name> extends undefined
    ? () => Promise<RequestResult<Name>>
    : (params: RequestParams<Name>, token?: CancellationToken) => Promise<RequestResult<Name>>;
};

export type EngineClient = EngineLink & EngineRequests;

/** Creates the client of a store's engine, without connecting yet. */
export function createEngineClient(options: ClientOptions, events: EngineEvents): EngineClient {
  const link = new EngineLink(options, events);
  const methods = Object.entries(REQUESTS).map(([name, { method, numberOfParams }]) => [
    name,
    (params: unknown, token = CancellationToken.None) =>
      link.ask((connection) =>
        numberOfParams === 0 ? connection.sendRequest(method, token) : connection.sendRequest(method, params, token),
      ),
  ]);
  // Names and types come from one table.
  return Object.assign(link, Object.fromEntries(methods) as EngineRequests);
}

/** The connection beneath the requests. */
class EngineLink {
  private readonly link: EngineConnection;

  constructor(options: ClientOptions, events: EngineEvents) {
    this.link = new EngineConnection(options, events);
  }

  /** True if there is a connection. */
  get attached(): boolean {
    return this.link.attached;
  }

  /** Connects to the engine if one is running. Returns true if there is a connection. */
  async attach(): Promise<boolean> {
    if (this.link.disposed) {
      return false;
    }
    return (await this.link.join(false)) !== null;
  }

  /** Gives the user's keys to a connected engine. An engine that is joined later receives them then. */
  async offerKeys(): Promise<void> {
    await this.link.offerKeys();
  }

  /** Ends the engine with its work in progress. Does nothing if none is running. */
  async shutdown(): Promise<void> {
    const live = await this.link.join(false);
    if (live === null) {
      return;
    }
    await Promise.race([
      live.connection.sendRequest(ShutdownRequest).then(
        () => undefined,
        () => undefined,
      ),
      live.ended,
    ]);
    await live.ended;
  }

  /** Ends the connection. The engine continues its runs. */
  dispose(): Promise<void> {
    return this.link.dispose();
  }

  /**
   * Sends a request once there is an engine.
   * @throws the errors of EngineRequests
   */
  async ask<Result>(send: (connection: MessageConnection) => Promise<Result>): Promise<Result> {
    const live = await this.link.join(true);
    if (live === null) {
      throw new C3Error('engine', 'The engine could not be reached: try again.');
    }
    const ended = live.ended.then((): never => {
      throw new C3Error('engine', 'The engine ended before it answered: see the log, then try again.');
    });
    try {
      return await Promise.race([send(live.connection), ended]);
    } catch (error) {
      if (!(error instanceof ResponseError) && live.socket.destroyed) {
        await ended;
      }
      throw toEngineError(error);
    }
  }
}
