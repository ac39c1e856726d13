/** Files of traces as protocol buffers: one request of an OTLP exporter. */
import { writeFileSync } from 'node:fs';
import { PRIVATE_FILE } from '../../files/newFile.ts';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { tracesInProtobuf } from '../../logs/otlpProtobuf.ts';
import { LogFile } from './logFile.ts';
import { C3Error } from '../../shared/errors.ts';

/** As the longest entry of other logs: it is read as a whole. */
const MOST_BYTES = 2 ** 26;

/** Writes the traces as JSON into a new file. @throws C3Error('input') for what is none, or is longer than 64 MB */
export function tracesAsJson(path: string, out: string): Promise<LeftOutCounts> {
  const file = new LogFile(path);
  try {
    if (file.size > MOST_BYTES) {
      throw new C3Error(
        'input',
        `${path} has more than 64 MB; export traces as JSON, which is read in pieces, or in smaller files.`,
      );
    }
    const traces = tracesInProtobuf(Buffer.from(file.read(0, file.size)), path);
    writeFileSync(out, JSON.stringify(traces), { flag: 'wx', mode: PRIVATE_FILE });
    return Promise.resolve([]);
  } finally {
    file.close();
  }
}
