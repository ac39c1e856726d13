/** The message format on a sandbox's pipes: length (4 bytes, little endian), kind (1 byte), content. */

/** The largest length of a message; a memory image is the largest that is sent. */
export const MAX_FRAME = 1 << 28;
export const HEADER = 5;
const COPIED = 1 << 16;

export interface Frame {
  /** One ASCII letter. */
  readonly kind: string;
  readonly content: Uint8Array;
}

/** Returns the five bytes before a content. */
function makeFrameHeader(kind: string, length: number): Uint8Array {
  const header = new Uint8Array(HEADER);
  new DataView(header.buffer).setUint32(0, length, true);
  header[4] = kind.charCodeAt(0);
  return header;
}

/** Returns the pieces to write for a frame: one piece, except that large content is not copied. */
export function splitFrame(kind: string, content: Uint8Array): readonly Uint8Array[] {
  const header = makeFrameHeader(kind, content.length);
  return content.length > COPIED ? [header, content] : [Buffer.concat([header, content])];
}

/** Reads length and kind from a header; null if the length is above the limit. */
export function parseFrameHeader(header: Uint8Array): { readonly length: number; readonly kind: string } | null {
  const length = new DataView(header.buffer, header.byteOffset, HEADER).getUint32(0, true);
  return length > MAX_FRAME ? null : { length, kind: String.fromCharCode(header[4] ?? 0) };
}

/** Assembles frames from the pieces in which a pipe delivers them. */
export class FrameReader {
  private readonly pieces: Uint8Array[] = [];
  private held = 0;

  /**
   * Returns the frames that this piece completes.
   * @throws Error if the bytes are not frames
   */
  push(piece: Uint8Array): Frame[] {
    this.pieces.push(piece);
    this.held += piece.length;
    const frames: Frame[] = [];
    while (this.held >= HEADER) {
      const first = this.pieces[0];
      if (first !== undefined && first.length < HEADER) {
        this.join();
      }
      const header = parseFrameHeader(this.pieces[0] ?? new Uint8Array(HEADER));
      if (header === null) {
        throw new Error('the sandbox sent something that is not a message');
      }
      if (this.held < HEADER + header.length) {
        break;
      }
      const all = this.join();
      frames.push({ kind: header.kind, content: all.subarray(HEADER, HEADER + header.length) });
      this.pieces[0] = all.subarray(HEADER + header.length);
      this.held -= HEADER + header.length;
    }
    return frames;
  }

  private join(): Uint8Array {
    const [first, ...rest] = this.pieces;
    const all = rest.length === 0 && first !== undefined ? first : Buffer.concat(this.pieces);
    this.pieces.length = 0;
    this.pieces.push(all);
    return all;
  }
}
