/** Inspect's `.eval` files: archives with a JSON document for each sample. */
import { addAbortSignal, type Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import yauzl from 'yauzl';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { MOST_UNPACKED, tooMuch, zstandard } from './compressedLog.ts';
import { Losses } from './losses.ts';
import { UnpackedFile } from './unpackedFile.ts';

const MOST_SAMPLES = 1_000_000;
const SAMPLE = /^samples\/[^/\\]+\.json$/u;
const ZSTANDARD = 93;
const [STORED, DEFLATED] = [0, 8] as const;
/** Characters of a name or a reason. */
const MOST_WORDS = 100;

export const isZip = (head: Buffer): boolean => head.subarray(0, 4).equals(Buffer.from([0x50, 0x4b, 0x03, 0x04]));

/**
 * Writes the documents of all samples into a new file, one after another. Names in the archive are compared and never
 * used as paths. A sample that is damaged, or compressed in a way that is not read, is left out.
 * @param most bytes that the samples may have together
 * @returns what was left out, by the reason
 * @throws C3Error('input') for an archive that is damaged as a whole, holds no sample that can be read, or more than is
 *   read; CancelledError
 */
export async function samplesAsJson(
  path: string,
  out: string,
  signal: AbortSignal,
  most = MOST_UNPACKED,
): Promise<LeftOutCounts> {
  const target = new UnpackedFile(out, most, () => tooMuch(`The samples of ${path} together are`, most));
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
      if (samples > MOST_SAMPLES) {
        throw new C3Error(
          'input',
          `${path} has more than ${MOST_SAMPLES.toLocaleString('en')} samples; split the log.`,
        );
      }
      const why = await faultOf(target, archive, entry, signal);
      if (why !== null) {
        losses.add(`sample ${oneLine(entry.fileName, MOST_WORDS)}, which cannot be read: ${why}`);
        first ||= `${oneLine(entry.fileName, MOST_WORDS)}: ${why}`;
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
      : new C3Error('input', `Cannot read ${path} as an Inspect log: ${messageOf(error)}; give a whole .eval file.`, {
          cause: error,
        });
  } finally {
    archive?.close();
    target.close();
  }
  if (samples === 0) {
    throw new C3Error('input', `${path} is an archive without samples/*.json; give an .eval file of Inspect.`);
  }
  return losses.counts;
}

/** Writes a sample. @returns why it cannot be read, and was not written; null where it was */
async function faultOf(
  target: UnpackedFile,
  archive: yauzl.ZipFile,
  entry: yauzl.Entry,
  signal: AbortSignal,
): Promise<string | null> {
  const before = target.length;
  try {
    await writeSample(target, addAbortSignal(signal, await contentOf(archive, entry)), entry.crc32);
    return null;
  } catch (error) {
    target.cutTo(before);
    // The disk may be full, which costs more than a sample.
    if (signal.aborted || error instanceof C3Error || (error instanceof Error && 'syscall' in error)) {
      throw error;
    }
    return oneLine(messageOf(error), MOST_WORDS);
  }
}

/** Writes all bytes of a sample and checks them. @throws what the content throws; Error where they are damaged */
async function writeSample(target: UnpackedFile, content: Readable, sum: number): Promise<void> {
  let found = 0;
  for await (const piece of content) {
    const bytes = piece as Buffer;
    found = crc32(bytes, found);
    target.put(bytes);
  }
  if (found !== sum) {
    throw new Error('its bytes are not those that its checksum was made of');
  }
  target.put(Buffer.from('\n'));
}

/** The text of an entry, however it is compressed: Inspect writes Zstandard too. */
async function contentOf(archive: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  if (entry.compressionMethod === STORED || entry.compressionMethod === DEFLATED) {
    return archive.openReadStreamPromise(entry);
  }
  if (entry.compressionMethod !== ZSTANDARD) {
    throw new Error(`compression method ${entry.compressionMethod} is not read`);
  }
  const unpacked = zstandard();
  const packed = await archive.openReadStreamPromise(entry, { decodeFileData: false });
  packed.once('error', (error) => unpacked.destroy(error));
  unpacked.once('close', () => packed.destroy());
  return packed.pipe(unpacked);
}
