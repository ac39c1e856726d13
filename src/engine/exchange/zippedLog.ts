/** Reads `.eval` files of Inspect: archives with a JSON document for each sample. */

import { addAbortSignal, type Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import yauzl from 'yauzl';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { MAX_UNPACKED_BYTES, createTooLargeError, createZstandardStream } from './compressedLog.ts';
import { Losses } from './losses.ts';
import { UnpackedFile } from './unpackedFile.ts';

const MAX_SAMPLES = 1_000_000;
const SAMPLE = /^samples\/[^/\\]+\.json$/u;
const ZSTANDARD = 93;
const [STORED, DEFLATED] = [0, 8] as const;
/** Maximum characters of a name or a reason. */
const MOST_WORDS = 100;

export const isZip = (head: Buffer): boolean => head.subarray(0, 4).equals(Buffer.from([0x50, 0x4b, 0x03, 0x04]));

/**
 * Writes the documents of all samples into a new file, one after another. Names in the archive are
 * compared and never used as paths. A sample that is damaged, or has an unknown compression, is left
 * out.
 * @param most maximum bytes of all samples together
 * @returns the counts of what was left out, by reason
 * @throws C3Error('input') if the archive is damaged as a whole, contains no readable sample, or is
 *   too large; CancelledError
 */
export async function convertSamples(
  path: string,
  out: string,
  signal: AbortSignal,
  most = MAX_UNPACKED_BYTES,
): Promise<LeftOutCounts> {
  const target = new UnpackedFile(out, most, () => createTooLargeError(`The samples of ${path} together are`, most));
  const losses = new Losses('further samples that cannot be read');
  let archive: yauzl.ZipFile | undefined;
  let [samples, first] = [0, ''];
  try {
    archive = await yauzl.openPromise(path, { lazyEntries: true, autoClose: false });
    for await (const entry of archive.eachEntry()) {
      if (!SAMPLE.test(entry.fileName)) {
        continue;
      }
      samples++;
      if (samples > MAX_SAMPLES) {
        throw new C3Error('input', `${path} has more than ${MAX_SAMPLES.toLocaleString('en')} samples; split the log.`);
      }
      const why = await tryWriteSample(target, archive, entry, signal);
      if (why !== null) {
        losses.add(`sample ${toOneLine(entry.fileName, MOST_WORDS)}, which cannot be read: ${why}`);
        first ||= `${toOneLine(entry.fileName, MOST_WORDS)}: ${why}`;
      }
    }
    if (samples > 0 && target.length === 0) {
      throw new Error(`none of its samples can be read (${first})`);
    }
  } catch (error) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    throw error instanceof C3Error
      ? error
      : new C3Error(
          'input',
          `Cannot read ${path} as an Inspect log: ${toErrorMessage(error)}; give a whole .eval file.`,
          { cause: error },
        );
  } finally {
    archive?.close();
    target.close();
  }
  if (samples === 0) {
    throw new C3Error('input', `${path} is an archive without samples/*.json; give an .eval file of Inspect.`);
  }
  return losses.counts;
}

/** Writes a sample. @returns the reason why it cannot be read and was not written, or null */
async function tryWriteSample(
  target: UnpackedFile,
  archive: yauzl.ZipFile,
  entry: yauzl.Entry,
  signal: AbortSignal,
): Promise<string | null> {
  const before = target.length;
  try {
    await writeSample(target, addAbortSignal(signal, await openSampleContent(archive, entry)), entry.crc32);
    return null;
  } catch (error) {
    target.cutTo(before);
    // Errors of the system, such as a full disk, concern more than one sample.
    if (signal.aborted || error instanceof C3Error || (error instanceof Error && 'syscall' in error)) {
      throw error;
    }
    return toOneLine(toErrorMessage(error), MOST_WORDS);
  }
}

/**
 * Writes all bytes of a sample and checks their checksum.
 * @throws errors of the content; Error if it is damaged
 */
async function writeSample(target: UnpackedFile, content: Readable, sum: number): Promise<void> {
  let found = 0;
  for await (const piece of content) {
    const bytes = piece as Buffer;
    found = crc32(bytes, found);
    target.put(bytes);
  }
  if (found !== sum) {
    throw new Error('its bytes do not match its checksum');
  }
  target.put(Buffer.from('\n'));
}

/** Opens the content of an entry. Inspect also writes Zstandard, which yauzl does not unpack. */
async function openSampleContent(archive: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  if (entry.compressionMethod === STORED || entry.compressionMethod === DEFLATED) {
    return archive.openReadStreamPromise(entry);
  }
  if (entry.compressionMethod !== ZSTANDARD) {
    throw new Error(`compression method ${entry.compressionMethod} is not read`);
  }
  const unpacked = createZstandardStream();
  const packed = await archive.openReadStreamPromise(entry, { decodeFileData: false });
  packed.once('error', (error) => unpacked.destroy(error));
  unpacked.once('close', () => packed.destroy());
  return packed.pipe(unpacked);
}
