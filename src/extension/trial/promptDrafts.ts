/** Keeps drafts of prompts in the workspace state, one for each role of a run. */

import { isRecord } from '../../shared/guard.ts';
import type { ListKeeper } from '../common/listKeeper.ts';

/** The run and the role of a prompt. */
export interface PromptPlace {
  readonly run: string;
  readonly role: string;
}

interface Draft extends PromptPlace {
  readonly text: string;
}

const KEY = 'c3.prompts';
/** Maximum number of drafts. The least recently saved one is dropped first. */
const MOST = 20;
/** Maximum length of a prompt in characters, as in a configuration. */
export const LONGEST_PROMPT = 20_000;

const isDraft = (value: unknown): value is Draft =>
  isRecord(value) && ['run', 'role', 'text'].every((key) => typeof value[key] === 'string');

export class PromptDrafts {
  private readonly keeper: ListKeeper;

  constructor(keeper: ListKeeper) {
    this.keeper = keeper;
  }

  /** Returns the saved draft, or null if there is none. */
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

/** Returns the path of a prompt's document. Its last part is the title of the tab. */
export const formatPromptPath = ({ run, role }: PromptPlace): string =>
  `/${encodeURIComponent(run)}/${encodeURIComponent(role)}/prompt of ${role.replaceAll(/[\\/]/gu, '\u00b7')}`;

/** Returns the run and the role of a prompt's path, or null for another path. */
export function parsePromptPath(path: string): PromptPlace | null {
  const [, run = '', role = ''] = /^\/([^/]+)\/([^/]+)\/[^/]+$/u.exec(path) ?? [];
  try {
    return run === '' ? null : { run: decodeURIComponent(run), role: decodeURIComponent(role) };
  } catch {
    return null;
  }
}

/**
 * Adapts a text of the editor to the run's prompt: its line ends, and no added final line end.
 * @param own the run's prompt
 */
export function normalizePrompt(text: string, own: string): string {
  const lines = own.includes('\r\n') ? text : text.replaceAll('\r\n', '\n');
  return own.endsWith('\n') ? lines : lines.replace(/\n+$/u, '');
}
