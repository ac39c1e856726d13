/** A model server that misbehaves on purpose, in this process. */

import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly body: Readonly<Record<string, unknown>>;
  readonly authorization: string | undefined;
  /** How often this prompt was asked for before. */
  readonly before: number;
}

/** What a server does with a request. */
export type Behaviour = (response: ServerResponse, asked: Asked) => void | Promise<void>;

export interface BadServer {
  readonly base: string;
  /** How often each prompt was answered whole. */
  readonly answered: Map<string, number>;
  readonly requests: Asked[];
  /** Requests under way, and the most there ever were. */
  underWay: number;
  most: number;
  readonly close: () => void;
}

export const promptOf = ({ body }: Asked): string => String(body['prompt']);

/** A whole answer to a prompt: the prompt itself, so that nobody can get another one's. */
export const answerTo = (prompt: string, more: object = {}): string =>
  JSON.stringify({
    model: 'm',
    choices: [{ index: 0, text: `echo ${prompt}`, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
    ...more,
  });

/** What ends at some time, such as a test. */
interface Ending {
  readonly after: (end: () => void) => void;
}

/** Starts a server that is closed with its test. */
export async function badServer(t: Ending, behave: (server: BadServer) => Behaviour): Promise<BadServer> {
  const seen = new Map<string, number>();
  let act: Behaviour = () => undefined;
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) {
        chunks.push(chunk);
      }
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      const prompt = String(body['prompt']);
      const before = seen.get(prompt) ?? 0;
      seen.set(prompt, before + 1);
      const asked = { body, authorization: request.headers.authorization, before };
      state.requests.push(asked);
      state.underWay++;
      state.most = Math.max(state.most, state.underWay);
      response.once('close', () => state.underWay--);
      await act(response, asked);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const state: BadServer = {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    answered: new Map(),
    requests: [],
    underWay: 0,
    most: 0,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  act = behave(state);
  t.after(state.close);
  return state;
}

/** Answers as it should. */
export const answersWell =
  (server: BadServer): Behaviour =>
  (response, asked) => {
    const prompt = promptOf(asked);
    server.answered.set(prompt, (server.answered.get(prompt) ?? 0) + 1);
    response.writeHead(200, { 'content-type': 'application/json' }).end(answerTo(prompt));
  };

/** Answers as it should, after a while. */
export const answersSlowly =
  (server: BadServer): Behaviour =>
  async (response, asked) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await answersWell(server)(response, asked);
  };

const status =
  (code: number, headers: Record<string, string> = {}): Behaviour =>
  (response) => {
    const error = { error: { message: `no luck (${code})` } };
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(error));
  };

/** Everything that may go wrong with one request. */
export const FAULTS: Readonly<Record<string, Behaviour>> = {
  'too many, with a time': status(429, { 'retry-after': '0.01' }),
  'too many, without': status(429),
  'an error of the server': status(500),
  'no JSON': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices": [{"text": "ec');
  },
  'another form': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices": "none"}');
  },
  'a stream that is cut in the middle': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"model": "m", "choices": [{"index": 0, "text": "echo "}]}\n\n', () => {
      response.destroy();
    });
  },
  'a stream that ends early': (response) => {
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end('data: {"model": "m", "choices": [{"index": 0, "text": "echo ", "finish_reason": ""}]}\n\n');
  },
  'an error within a stream': (response) => {
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end('data: {"choices": [{"index": 0, "text": "e"}]}\n\ndata: {"error": {"message": "overloaded"}}\n\n');
  },
  'a connection that is cut': (response) => {
    response.destroy();
  },
  'no answer at all': () => undefined,
};
