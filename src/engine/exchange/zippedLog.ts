/** Inspect's `.eval` files: archives with a JSON document for each sample. */
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import yauzl from 'yauzl';
import { PRIVATE_FILE } from '../../files/newFile.ts';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import { counted, MOST_UNPACKED, tooMuch, zstandard } from './compressedLog.ts';

const MOST_SAMPLES = 1_000_000;
const SAMPLE = /^samples\/[^/\\]+\.json$/u;
const ZSTANDARD = 93;
const [STORED, DEFLATED] = [0, 8] as const;

export const isZip = (head: Buffer): boolean => head.subarray(0, 4).equals(Buffer.from([0x50, 0x4b, 0x03, 0x04]));

/**
 * Writes the documents of all samples into a new file, one after another. Names in the archive are compared and never
 * used as paths.
 * @param most bytes that the samples may have together
 * @throws C3Error('input') for an archive that is damaged, holds no samples, or more than is read; CancelledError
 */
export async function samplesAsJson(
  path: string,
  out: string,
  signal: AbortSignal,
  most = MOST_UNPACKED,
): Promise<LeftOutCounts> {
  const target = createWriteStream(out, { flags: 'wx', mode: PRIVATE_FILE });
  let archive: yauzl.ZipFile | undefined;
  let samples = 0;
  const written = { bytes: 0 };
  const refused = (): C3Error => tooMuch(`The samples of ${path} together are`, most);
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
      const content = await contentOf(archive, entry);
      await pipeline([content, counted(written, most, refused), target], { end: false, signal });
      target.write('\n');
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
    await new Promise<void>((resolve) => {
      target.end(() => {
        resolve();
      });
      target.once('error', () => {
        resolve();
      });
    });
  }
  if (samples === 0) {
    throw new C3Error('input', `${path} is an archive without samples/*.json; give an .eval file of Inspect.`);
  }
  return [];
}

/** The text of an entry, however it is compressed: Inspect writes Zstandard too. */
async function contentOf(archive: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  if (entry.compressionMethod === STORED || entry.compressionMethod === DEFLATED) {
    return archive.openReadStreamPromise(entry);
  }
  if (entry.compressionMethod !== ZSTANDARD) {
    throw new Error(
      `compression method ${String(entry.compressionMethod)} of ${entry.fileName.slice(0, 100)} is not read`,
    );
  }
  const packed = await archive.openReadStreamPromise(entry, { decodeFileData: false });
  const unpacked = zstandard();
  packed.once('error', (error) => unpacked.destroy(error));
  return packed.pipe(unpacked);
}
