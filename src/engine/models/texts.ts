/**
 * Tokenizers and chat templates of model folders. Those of the bundled teams are trusted and run in
 * this process, all others in separate processes.
 */

import type { Rendering } from '../../policy/rendering.ts';
import { TextProcess } from '../../policy/textProcess.ts';
import { loadTokenizer, type LoadedTokenizer, type Tokenizer } from '../../policy/tokenizer.ts';
import type { Renderer } from '../../team/render.ts';
import { listBundledTeams, TEXT_PLACES } from '../places.ts';

const never = new AbortController().signal;
const OURS: ReadonlySet<string> = new Set(listBundledTeams());

/** Starts the process of a folder for one piece of work, and always ends it. */
export async function withTexts<Result>(
  folder: string,
  work: (texts: TextProcess) => Promise<Result>,
): Promise<Result> {
  const texts = new TextProcess(TEXT_PLACES, folder);
  try {
    return await work(texts);
  } finally {
    texts.close();
  }
}

/** The tokenizers and renderers of an engine; each folder is read once. */
export class TextPool {
  private readonly ours = new Map<string, Promise<LoadedTokenizer>>();
  private readonly processes = new Map<string, TextProcess>();

  /**
   * Returns the tokenizer of a folder. A folder that could not be read is read again the next time.
   * @param signal ends the wait of its calls
   * @throws C3Error('model') naming the file; CancelledError
   */
  tokenizer(folder: string, signal: AbortSignal = never): Promise<Tokenizer> {
    if (!OURS.has(folder)) {
      return this.process(folder).tokenizer(signal);
    }
    const known = this.ours.get(folder) ?? loadTokenizer(folder);
    this.ours.set(folder, known);
    known.catch(() => this.ours.delete(folder));
    return known;
  }

  /** Returns the renderer for a stored rendering. @param folder of the run's model */
  renderer(folder: string, rendering: Rendering | null, signal: AbortSignal = never): Renderer {
    return this.process(folder).renderer(rendering, signal);
  }

  close(): void {
    for (const texts of this.processes.values()) {
      texts.close();
    }
  }

  private process(folder: string): TextProcess {
    const known = this.processes.get(folder) ?? new TextProcess(TEXT_PLACES, folder);
    this.processes.set(folder, known);
    return known;
  }
}
