/** A model server of plain sockets that says the bytes that a test has drawn for each exchange. */

import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { Sent } from './said.ts';

/** What names an exchange in the body of its request. */
const MARK = /exchange-(\d+)\b/u;
const HEAD_END = '\r\n\r\n';

/** What the server does with an exchange: what it says, and hears once all is said. */
export interface Script {
  readonly sent: (before: number) => Sent;
  readonly onSaid?: () => void;
}

export class RawServer {
  /** How often each exchange was asked. */
  readonly asked = new Map<number, number>();
  private readonly scripts = new Map<number, Script>();
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((socket) => {
    this.sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => this.sockets.delete(socket));
    let heard = '';
    socket.on('data', (piece: Buffer) => {
      // The mark is in the last bytes of a request.
      heard += piece.toString('latin1');
      const whole = requestIn(heard);
      if (whole !== null) {
        heard = '';
        void this.answer(socket, whole);
      }
    });
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  expect(number: number, script: Script): void {
    this.scripts.set(number, script);
  }

  forget(number: number): void {
    this.scripts.delete(number);
  }

  close(): void {
    for (const socket of this.sockets) {
      socket.destroy();
    }
    this.server.close();
  }

  private async answer(socket: Socket, request: string): Promise<void> {
    const number = Number(MARK.exec(request)?.[1] ?? -1);
    const before = this.asked.get(number) ?? 0;
    this.asked.set(number, before + 1);
    const script = this.scripts.get(number);
    if (script === undefined) {
      // Its mark was garbled on the way.
      socket.end(`HTTP/1.1 404 Not Found\r\nContent-Length: 0${HEAD_END}`);
      return;
    }
    const { pieces, then } = script.sent(before);
    for (const piece of pieces) {
      if (!socket.destroyed && !socket.write(piece)) {
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
      }
      await setImmediate();
    }
    if (then === 'end') {
      socket.end();
    } else if (then === 'reset') {
      socket.write('', () => socket.resetAndDestroy());
    }
    script.onSaid?.();
  }
}

/** A request that is whole; null where more of it comes. */
function requestIn(heard: string): string | null {
  const head = heard.indexOf(HEAD_END);
  if (head < 0) {
    return null;
  }
  const length = Number(/^content-length: *(\d+)/imu.exec(heard.slice(0, head))?.[1] ?? 0);
  return heard.length >= head + HEAD_END.length + length ? heard : null;
}
