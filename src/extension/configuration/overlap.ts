/**
 * Questions that a configuration both trains on and evaluates: looked for in a thread of its own, in files of a bounded
 * size, for a bounded time.
 */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isScalar } from 'yaml';
import type { ShownTests, TaskFormat } from '../../shared/runNames.ts';
import { parseYaml } from '../../shared/text/yaml.ts';
import { rangeOf, type Range } from '../../training/config/checkConfig.ts';
import type { RunConfig } from '../../training/config/config.ts';
import { readConfig } from '../../training/config/readConfig.ts';

/** Larger files are read by the run alone, which says the same. */
export const MAX_OVERLAP_BYTES = 1 << 25;
/** A ceiling, not a pace: the size is bounded, and a machine that trains meanwhile is slow. */
const MILLISECONDS = 60_000;
const MEGABYTES = 512;

/** What the thread is asked. */
export interface OverlapQuestion {
  /** Absolute. */
  readonly train: string;
  readonly evaluation: string;
  /** Questions that are evaluated at most. */
  readonly limit: number;
  readonly format: TaskFormat;
  readonly showTests: ShownTests;
  /** Whether a run stops at an overlap. */
  readonly refused: boolean;
}

export interface Overlap extends Range {
  readonly message: string;
  /** Whether a run stops at it. */
  readonly refused: boolean;
}

/** Looks for overlaps of one configuration, again only where its files or what is read of them have changed. */
export class OverlapCheck {
  private readonly entry: string | URL;
  private key = '';
  /** How often it was asked: the files of a later text may be there before those of an earlier one. */
  private asked = 0;
  private found: Promise<string | null> = Promise.resolve(null);
  private stop: () => void = () => undefined;

  /** @param entry the program of the thread */
  constructor(entry: string | URL) {
    this.entry = entry;
  }

  /**
   * The overlap that a run of this text would find.
   * @param base folder that paths are relative to
   * @returns null where there is none, or it is not looked for: the text has faults, a later text was asked about, or a
   *   file is missing, too large or takes too long
   */
  async of(text: string, base: string): Promise<Overlap | null> {
    const turn = ++this.asked;
    const config = configOf(text);
    const question = config === null ? null : questionOf(config, base);
    const place = rangeOfKey(text);
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
      // Out of memory, or no thread at all: the run will say what it finds.
      worker.once('error', () => answer(null));
      worker.once('exit', () => answer(null));
    }).finally(() => clearTimeout(timer));
  }
}

function configOf(text: string): RunConfig | null {
  try {
    return readConfig(text, 'configuration');
  } catch {
    return null;
  }
}

function questionOf({ task, evaluation }: RunConfig, base: string): OverlapQuestion | null {
  // Of slices the run alone knows which questions they hold.
  const whole = task.train_split === null && task.evaluation_split === null;
  if (task.train_file === null || task.evaluation_file === null || evaluation.instances === 0 || !whole) {
    return null;
  }
  const [train, held] = [resolve(base, task.train_file), resolve(base, task.evaluation_file)];
  const { format, show_tests: showTests, refuse_overlap: refused } = task;
  return { train, evaluation: held, limit: evaluation.instances, format, showTests, refused };
}

function rangeOfKey(text: string): Range | null {
  const node: unknown = parseYaml(text).getIn(['task', 'evaluation_file'], true);
  return isScalar(node) ? rangeOf(node) : null;
}
