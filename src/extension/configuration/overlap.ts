/**
 * Finds questions that a configuration both trains on and evaluates. Runs in a separate thread, with
 * limits on the size of the files and on the time.
 */

import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isScalar } from 'yaml';
import type { ShownTests, TaskFormat } from '../../shared/runNames.ts';
import { parseYaml } from '../../shared/text/yaml.ts';
import { findNodeRange, type Range } from '../../training/config/checkConfig.ts';
import type { RunConfig } from '../../training/config/config.ts';
import { readConfig } from '../../training/config/readConfig.ts';

/** Maximum file size. Only the run itself checks larger files. */
export const MAX_OVERLAP_BYTES = 1 << 25;
/** Time limit. It is generous, since a machine that trains meanwhile is slow. */
const MILLISECONDS = 60_000;
const MEGABYTES = 512;

/** The input of the thread. */
export interface OverlapQuestion {
  /** Absolute path. */
  readonly train: string;
  readonly evaluation: string;
  /** Maximum number of questions that are evaluated. */
  readonly limit: number;
  readonly format: TaskFormat;
  readonly showTests: ShownTests;
  /** True if a run stops at an overlap. */
  readonly refused: boolean;
}

export interface Overlap extends Range {
  readonly message: string;
  /** True if a run stops at the overlap. */
  readonly refused: boolean;
}

/** Looks for overlaps of one configuration. Repeats the search only if the files or keys changed. */
export class OverlapCheck {
  private readonly entry: string | URL;
  private key = '';
  /** Number of calls so far. The files of a later call may be found before those of an earlier one. */
  private asked = 0;
  private found: Promise<string | null> = Promise.resolve(null);
  private stop: () => void = () => undefined;

  /** @param entry the script of the thread */
  constructor(entry: string | URL) {
    this.entry = entry;
  }

  /**
   * Finds the overlap that a run of this text would find.
   * @param base the folder that paths are relative to
   * @returns null if there is no overlap, the text has faults, a later call has begun, or a file is
   *   missing, too large or takes too long
   */
  async of(text: string, base: string): Promise<Overlap | null> {
    const turn = ++this.asked;
    const config = tryReadConfig(text);
    const question = config === null ? null : toOverlapQuestion(config, base);
    const place = findEvaluationFileRange(text);
    const files =
      question === null
        ? []
        : await Promise.all([question.train, question.evaluation].map((path) => stat(path).catch(() => null)));
    if (turn !== this.asked) {
      return null;
    }
    const usable = files.every((file) => file?.isFile() === true && file.size <= MAX_OVERLAP_BYTES);
    if (question === null || place === null || !usable) {
      this.ask('', () => Promise.resolve(null));
      return null;
    }
    this.ask(JSON.stringify([question, files.map((file) => [file?.size, file?.mtimeMs])]), () =>
      this.inThread(question),
    );
    const message = await this.found;
    return message === null ? null : { ...place, message, refused: question.refused };
  }

  dispose(): void {
    this.stop();
  }

  private ask(key: string, look: () => Promise<string | null>): void {
    if (key === this.key) {
      return;
    }
    this.stop();
    this.key = key;
    this.found = look();
  }

  private inThread(workerData: OverlapQuestion): Promise<string | null> {
    const worker = new Worker(this.entry, { workerData, resourceLimits: { maxOldGenerationSizeMb: MEGABYTES } });
    const end = (): void => void worker.terminate();
    this.stop = end;
    const timer = setTimeout(end, MILLISECONDS);
    return new Promise<string | null>((answer) => {
      worker.once('message', (message: unknown) => answer(typeof message === 'string' ? message : null));
      // Out of memory, or the thread did not start: the run itself reports any overlap.
      worker.once('error', () => answer(null));
      worker.once('exit', () => answer(null));
    }).finally(() => clearTimeout(timer));
  }
}

function tryReadConfig(text: string): RunConfig | null {
  try {
    return readConfig(text, 'configuration');
  } catch {
    return null;
  }
}

function toOverlapQuestion({ task, evaluation }: RunConfig, base: string): OverlapQuestion | null {
  // Only the run itself knows which questions a split holds.
  const whole = task.train_split === null && task.evaluation_split === null;
  if (task.train_file === null || task.evaluation_file === null || evaluation.instances === 0 || !whole) {
    return null;
  }
  const [train, held] = [resolve(base, task.train_file), resolve(base, task.evaluation_file)];
  const { format, show_tests: showTests, refuse_overlap: refused } = task;
  return { train, evaluation: held, limit: evaluation.instances, format, showTests, refused };
}

function findEvaluationFileRange(text: string): Range | null {
  const node: unknown = parseYaml(text).getIn(['task', 'evaluation_file'], true);
  return isScalar(node) ? findNodeRange(node) : null;
}
