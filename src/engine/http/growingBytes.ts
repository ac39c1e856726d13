/** Bytes that come in pieces of any size, in one buffer: a million pieces of one byte cost no more than their bytes. */

export class GrowingBytes {
  private buffer = Buffer.alloc(0);
  private length = 0;

  /** Copies a piece behind those before it. */
  add(piece: Buffer): void {
    const length = this.length + piece.length;
    if (length > this.buffer.length) {
      // Twice as many each time: every byte is copied a few times at most. What comes at once has no room beside it.
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    piece.copy(this.buffer, this.length);
    this.length = length;
  }

  /** All bytes so far, valid until more come. */
  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Lets all of them go. */
  clear(): void {
    this.buffer = Buffer.alloc(0);
    this.length = 0;
  }
}
