/**
 * What a scenario that failed leaves: in a folder a picture, a trace, the texts of all pages and logs, and in the
 * output the ends of those, for a machine that is gone afterward.
 */

import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import type { EditorServer } from './server.ts';

const ARTIFACTS = join(import.meta.dirname, '..', '..', 'artifacts');
const EXTENSION_LOG = join('c3-replay.c3-replay', 'C3.log');
/** Lines that are printed of each log, and characters of each line and of each page. */
const LOG_LINES = 12;
const LINE_LENGTH = 300;
const TEXT_LENGTH = 3_000;
/** Where the window says something beside its panels. */
const PLACES = {
  notification: '.notification-list-item',
  'quick input': '.quick-input-widget:visible',
  dialog: '.monaco-dialog-box',
  'status bar': '.statusbar-item:visible',
  tree: '.sidebar .monaco-list-row',
  'line above a file': '.codelens-decoration',
} as const;

/** The window in which a scenario failed. */
export interface FailedWindow {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly server: EditorServer;
  /** What it and its webviews printed on their consoles. */
  readonly console: readonly string[];
  /** When it was opened, in milliseconds since 1970. */
  readonly opened: number;
}

/** Keeps what is needed to understand a failure. */
export async function saveFailure(name: string, workbench: FailedWindow): Promise<void> {
  const { page, server, console: lines, context } = workbench;
  const file = basename(process.argv[1] ?? 'scenario', '.test.ts');
  const folder = join(ARTIFACTS, file, name.replaceAll(/[^\p{L}\p{N}]+/gu, '-'));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const texts = await textsOf(page);
  const logs = await logsOf(server.logFolder, workbench.opened);
  await writeFile(join(folder, 'pages.txt'), texts.join('\n\n'));
  await writeFile(join(folder, 'console.log'), lines.join('\n'));
  await cp(server.outputFile, join(folder, 'server.log'));
  for (const path of logs) {
    await cp(join(server.logFolder, path), join(folder, 'logs', path));
  }
  await page
    .screenshot({ path: join(folder, 'window.png') })
    .catch((error: unknown) => writeFile(join(folder, 'window.txt'), String(error)));
  await context.tracing
    .stopChunk({ path: join(folder, 'trace.zip') })
    .catch((error: unknown) => writeFile(join(folder, 'trace.txt'), String(error)));
  console.log(`Picture, trace and logs of "${name}" are in ${folder}`);
  const said = [
    ...(await wordsOf(page)),
    ...texts.flatMap((text) => text.slice(0, TEXT_LENGTH).split('\n')),
    ...lines.slice(-LOG_LINES),
    ...(await endsOf(logs.filter((path) => path.endsWith(EXTENSION_LOG)).map((path) => join(server.logFolder, path)))),
  ];
  for (const line of said) {
    console.log(`  ${line.slice(0, LINE_LENGTH)}`);
  }
}

/** What the window says beside its panels, one line for each place. */
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

/** The text of each webview that is open, under its title. */
async function textsOf(page: Page): Promise<readonly string[]> {
  const texts = await Promise.all(
    page.frames().map(async (frame) => {
      if (frame.name() !== 'active-frame' && !frame.url().includes('fake.html')) {
        return undefined;
      }
      // A frame that is gone says nothing.
      return frame
        .evaluate(() => `${document.title}\n${document.body.innerText.replaceAll(/\n\s*\n+/gu, '\n')}`)
        .catch(() => undefined);
    }),
  );
  return texts.filter((text) => text !== undefined);
}

/** Log files that were written since the window was opened, from the log folder. */
async function logsOf(folder: string, since: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const times = await Promise.all(files.map(async (path) => (await stat(path)).mtimeMs));
  return files.filter((_, index) => (times[index] ?? 0) >= since).map((path) => path.slice(folder.length + 1));
}

async function endsOf(files: readonly string[]): Promise<readonly string[]> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.flatMap((text) => text.trimEnd().split('\n').slice(-LOG_LINES));
}
