/** A buffer for bytes in pieces: a million pieces of one byte cost no more than their bytes. */

export class GrowingBytes {
  private buffer = Buffer.alloc(0);
  private length = 0;

  /** Appends a copy of a piece. */
  add(piece: Buffer): void {
    const length = this.length + piece.length;
    if (length > this.buffer.length) {
      // The size doubles, so that each byte is copied only a few times. A first piece gets no spare room.
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    piece.copy(this.buffer, this.length);
    this.length = length;
  }

  /** Returns all bytes so far, valid until the next piece. */
  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Releases all bytes. */
  clear(): void {
    this.buffer = Buffer.alloc(0);
    this.length = 0;
  }
}
