/** What a scenario that failed leaves: a picture and logs in a folder, and in the output what the window said last. */
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import type { EditorServer } from './server.ts';

const ARTIFACTS = join(import.meta.dirname, '..', '..', 'artifacts');
const EXTENSION_LOG = join('c3-replay.c3-replay', 'C3.log');
const LOG_LINES = 12;
const LINE_LENGTH = 300;
/** Where the window says something beside its panels. */
const PLACES = {
  notification: '.notification-list-item',
  'quick input': '.quick-input-widget:visible',
  dialog: '.monaco-dialog-box',
  'status bar': '.statusbar-item:visible',
  tree: '.sidebar .monaco-list-row',
  'line above a file': '.codelens-decoration',
} as const;

/**
 * Keeps what is needed to understand a failure, here in a folder and, for a machine that is gone afterward, in the
 * output.
 * @param lines what the window and its webviews printed on their consoles
 */
export async function saveFailure(
  name: string,
  page: Page,
  server: EditorServer,
  lines: readonly string[],
): Promise<void> {
  const file = basename(process.argv[1] ?? 'scenario', '.test.ts');
  const folder = join(ARTIFACTS, file, name.replaceAll(/[^\p{L}\p{N}]+/gu, '-'));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'server.log'), server.log());
  await writeFile(join(folder, 'console.log'), lines.join('\n'));
  await cp(server.logFolder, join(folder, 'logs'), { recursive: true });
  await page
    .screenshot({ path: join(folder, 'window.png') })
    .catch((error: unknown) => writeFile(join(folder, 'window.txt'), String(error)));
  console.log(`Picture and logs of "${name}" are in ${folder}`);
  for (const line of [...(await wordsOf(page)), ...(await logOf(server))]) {
    console.log(`  ${line.slice(0, LINE_LENGTH)}`);
  }
}

async function wordsOf(page: Page): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const [place, selector] of Object.entries(PLACES)) {
    // A window that is gone says nothing.
    const texts = await page
      .locator(selector)
      .allInnerTexts()
      .catch(() => []);
    const words = texts.map((text) => text.replaceAll(/\s+/gu, ' ').trim()).filter((text) => text !== '');
    if (words.length > 0) {
      lines.push(`${place}: ${words.join(' | ')}`);
    }
  }
  return lines;
}

async function logOf(server: EditorServer): Promise<readonly string[]> {
  const names = (await readdir(server.logFolder, { recursive: true })).filter((name) => name.endsWith(EXTENSION_LOG));
  const logs = await Promise.all(names.map((name) => readFile(join(server.logFolder, name), 'utf8')));
  return logs.flatMap((text) => text.trimEnd().split('\n').slice(-LOG_LINES));
}
