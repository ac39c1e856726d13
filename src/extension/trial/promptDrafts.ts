/** Prompts that are being written: one for each role of a run, kept by the workspace when it is saved. */
import { isRecord } from '../../shared/guard.ts';
import type { ListKeeper } from '../common/listKeeper.ts';

/** Whose prompt it is. */
export interface PromptPlace {
  readonly run: string;
  readonly role: string;
}

interface Draft extends PromptPlace {
  readonly text: string;
}

const KEY = 'c3.prompts';
/** Drafts that are kept; the one saved longest ago is forgotten first. */
const MOST = 20;
/** Characters of a prompt, as a configuration may have them. */
export const LONGEST_PROMPT = 20_000;

const isDraft = (value: unknown): value is Draft =>
  isRecord(value) && ['run', 'role', 'text'].every((key) => typeof value[key] === 'string');

export class PromptDrafts {
  private readonly keeper: ListKeeper;

  constructor(keeper: ListKeeper) {
    this.keeper = keeper;
  }

  /** What was written last; null where that is the run's own prompt. */
  of({ run, role }: PromptPlace): string | null {
    return this.all().find((one) => one.run === run && one.role === role)?.text ?? null;
  }

  async set({ run, role }: PromptPlace, text: string): Promise<void> {
    const others = this.all().filter((one) => one.run !== run || one.role !== role);
    await this.keeper.update(KEY, [{ run, role, text }, ...others].slice(0, MOST));
  }

  private all(): readonly Draft[] {
    const kept = this.keeper.get(KEY);
    return Array.isArray(kept) ? kept.filter((one) => isDraft(one)) : [];
  }
}

/** The path of a prompt's document; its last part is what its tab is called. */
export const promptPath = ({ run, role }: PromptPlace): string =>
  `/${encodeURIComponent(run)}/${encodeURIComponent(role)}/prompt of ${role.replaceAll(/[\\/]/gu, '\u00b7')}`;

/** Whose prompt is at a path; null for another path. */
export function placeOfPrompt(path: string): PromptPlace | null {
  const [, run = '', role = ''] = /^\/([^/]+)\/([^/]+)\/[^/]+$/u.exec(path) ?? [];
  try {
    return run === '' ? null : { run: decodeURIComponent(run), role: decodeURIComponent(role) };
  } catch {
    return null;
  }
}

/**
 * A prompt as the editor has it: with the line ends of the run's own, and without the last one that editors add.
 * @param own the run's prompt
 */
export function writtenPrompt(text: string, own: string): string {
  const lines = own.includes('\r\n') ? text : text.replaceAll('\r\n', '\n');
  return own.endsWith('\n') ? lines : lines.replace(/\n+$/u, '');
}
