/**
 * What a client of the engine may send: frames of bounded length with a short header, or it is not listened to any
 * longer.
 */
import type { Socket } from 'node:net';

/** Bytes of a message; the longest are the texts that a person types. */
export const MOST_FRAME_BYTES = 1 << 24;
const MOST_HEADER_BYTES = 4096;
const END_OF_HEADER = '\r\n\r\n';

/**
 * Closes the connection at the first frame that is none or too long, before anything of it is held. Call before anybody
 * reads the socket.
 */
export function boundFrames(socket: Socket): void {
  const frames = new FrameCounter();
  socket.prependListener('data', (chunk: Buffer) => {
    if (!frames.allows(chunk)) {
      socket.destroy();
    }
  });
}

/** Follows the frames of a stream: headers as the protocol has them, bodies by their length alone. */
class FrameCounter {
  private header = '';
  /** Bytes of the body that are still to come. */
  private left = 0;

  /** False from the first frame on that is none or too long. */
  allows(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length;) {
      if (this.left > 0) {
        const taken = Math.min(this.left, chunk.length - at);
        this.left -= taken;
        at += taken;
        continue;
      }
      const known = this.header.length;
      this.header += chunk.toString('latin1', at, at + MOST_HEADER_BYTES);
      const end = this.header.indexOf(END_OF_HEADER);
      if (end === -1) {
        return this.header.length < MOST_HEADER_BYTES;
      }
      const length = Number(
        /^content-length: *(\d{1,15})$/imu.exec(this.header.slice(0, end).replaceAll('\r', ''))?.[1] ?? NaN,
      );
      if (!(length <= MOST_FRAME_BYTES)) {
        return false;
      }
      at += end + END_OF_HEADER.length - known;
      this.left = length;
      this.header = '';
    }
    return true;
  }
}
