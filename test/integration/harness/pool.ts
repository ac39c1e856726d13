/**
 * Pairs of a code-server and a Chromium in which windows are opened. A test run has a few that live as long as it does
 * and lends one to each test file; a test file that is run by itself, or that asks for a server of another kind, starts
 * one of its own. A pair holds nothing of the file before: each has a folder of its own, in a page that was emptied.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { groupSeconds } from '../../runner/processor.ts';
import { killEngines } from '../../support/engines.ts';
import { blankPage, connectBrowser, emptyPage, launchBrowser, launchShared, newPage } from './browser.ts';
import { EditorServer, OwnServer, writeFiles, type ServerOptions } from './server.ts';

/** Set by the test run for a file: the pair that it is lent. */
export const LENT_PAIR = 'C3_TEST_PAIR';

const lentPair = z.object({ url: z.string(), home: z.string(), browser: z.string() });

/** A server and a browser for one test file. */
export interface Pair {
  readonly server: EditorServer;
  /** Empty, for the window. */
  readonly page: Page;
  /** Another page, with browser storage of its own; it ends with the pair. */
  readonly anotherPage: () => Promise<Page>;
  /** Gives the pair back, or ends it where this process has started it. */
  readonly release: () => Promise<void>;
}

/** A pair of a test run. */
export interface PooledPair {
  /** What a test file connects to, for LENT_PAIR. */
  readonly address: string;
  /** Of both, and of what they started, so far. */
  readonly processorSeconds: () => number;
  /** Whether both still answer. */
  readonly works: () => Promise<boolean>;
  readonly stop: () => Promise<void>;
}

/** Starts a pair that test files connect to, one after another. */
export async function startPair(): Promise<PooledPair> {
  const server = await OwnServer.start();
  try {
    const { browser, address } = await launchShared();
    return {
      address: JSON.stringify({ url: server.url, home: server.home, browser: address }),
      processorSeconds: () => groupSeconds([server.group, browser.process().pid ?? 0]),
      works: async () => browser.process().exitCode === null && (await server.answers()),
      stop: async () => {
        await browser.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The pair of this test file: the one that it is lent, or one of its own where it asks for that. */
export async function takePair(options?: ServerOptions): Promise<Pair> {
  const lent = process.env[LENT_PAIR];
  if (lent !== undefined && lent !== '' && options === undefined) {
    const { url, home, browser: address } = lentPair.parse(JSON.parse(lent));
    const server = new EditorServer(url, home);
    await server.resetSettings();
    const browser = await connectBrowser(address);
    return {
      server,
      page: await emptyPage(browser),
      anotherPage: () => newPage(browser),
      release: async () => {
        await blankPage(browser);
        await browser.close();
        killEngines(server.runtime);
      },
    };
  }
  const server = await OwnServer.start(options);
  try {
    const browser = await launchBrowser();
    return {
      server,
      page: await newPage(browser),
      anotherPage: () => newPage(browser),
      release: async () => {
        await browser.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * Makes a workspace folder.
 * @param files relative path to content
 * @param settings of the editor in this folder
 */
export async function makeFolder(
  files: Readonly<Record<string, string>>,
  settings: Readonly<Record<string, unknown>>,
): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'c3-window-'));
  const folder = join(parent, 'workspace');
  await mkdir(folder);
  await writeFiles(folder, files);
  if (Object.keys(settings).length > 0) {
    await writeFiles(folder, { [join('.vscode', 'settings.json')]: JSON.stringify(settings, null, 2) });
  }
  return folder;
}

/** Removes a workspace folder with what lies beside it. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(join(folder, '..'), { recursive: true, force: true, maxRetries: 5 });
}
