/** A recording that the tests of a file share. */

import { rmSync } from 'node:fs';
import { after, type TestContext } from 'node:test';
import { copyOf } from '../unit/engine/workspace.ts';
import { newRecorded } from './recordedStores.ts';
import type { RecordingName } from './recordings.ts';

/** Makes a recording for the tests of a file, each of which gets its own copy. */
export async function recordedFor(
  name: RecordingName,
): Promise<{ readonly run: string; readonly folderFor: (t: TestContext) => string }> {
  const { folder, run } = await newRecorded(name);
  after(() => rmSync(folder, { recursive: true, force: true }));
  return { run, folderFor: (t) => copyOf(t, folder) };
}
