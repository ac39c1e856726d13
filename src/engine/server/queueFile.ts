/** Keeps an engine's queue in a file next to the store, so that a killed engine loses no open jobs. */

import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { PRIVATE_FOLDER, readSmall, replaceFile } from '../../files/newFile.ts';
import { resolveRealFile } from '../../files/realFile.ts';
import type { UnstartedJob } from '../../shared/protocols/jobs.ts';

const MOST_ENTRIES = 1000;
const LONGEST = 10_000;
/** Most bytes of the file. Real entries take far less. */
const LONGEST_FILE = 1 << 24;

const entrySchema = z.object({
  id: z.string().min(1).max(LONGEST),
  kind: z.enum(['start', 'resume']),
  title: z.string().max(LONGEST),
  run: z.string().max(LONGEST).nullable(),
  config: z.string().max(LONGEST).nullable(),
  overrides: z.array(z.string().max(LONGEST)).max(MOST_ENTRIES),
  folder: z.string().max(LONGEST),
  askedAt: z.string().max(LONGEST),
  /** True if its run is in the store, where it shows as interrupted. */
  begun: z.boolean(),
});
const fileSchema = z.object({ version: z.literal(1), entries: z.array(entrySchema).max(MOST_ENTRIES) });

/** A job that has not finished. */
export type QueueEntry = z.infer<typeof entrySchema>;

export class QueueFile {
  private readonly path: string;
  private madeFolder = false;

  constructor(store: string) {
    this.path = `${resolveRealFile(store)}.queue.json`;
  }

  /** Reads the entries. Returns none if the file is missing or invalid. */
  read(): readonly QueueEntry[] {
    try {
      return fileSchema.parse(JSON.parse(readSmall(this.path, LONGEST_FILE) ?? '')).entries;
    } catch {
      return [];
    }
  }

  /** Writes the entries, or removes the file if there are none. @throws if they cannot be written */
  write(entries: readonly QueueEntry[]): void {
    if (entries.length === 0) {
      rmSync(this.path, { force: true });
      this.removeFolder();
      return;
    }
    const made = mkdirSync(dirname(this.path), { recursive: true, mode: PRIVATE_FOLDER });
    if (made !== undefined) {
      this.madeFolder = true;
    }
    replaceFile(this.path, `${JSON.stringify({ version: 1, entries })}\n`);
  }

  /** Removes the folder if it was created for the queue and is empty. */
  private removeFolder(): void {
    if (!this.madeFolder) {
      return;
    }
    this.madeFolder = false;
    try {
      rmdirSync(dirname(this.path));
    } catch {
      // It has the store now.
    }
  }
}

/** Returns the form in which clients see an entry that never began. */
export function toUnstartedJob({ id, kind, title, run, config, overrides, askedAt }: QueueEntry): UnstartedJob {
  return { id, kind, title, run, config, overrides, askedAt };
}
