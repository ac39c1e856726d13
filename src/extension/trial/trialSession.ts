/** The session of the trial panel. */

import { describeTeamChange, type TrialProblems } from '../../domain/trial.ts';
import type { ShownTrial, TRIAL_PANEL, TrialFromHost } from '../../shared/protocols/trialProtocol.ts';
import type { EventsOf, Page, SessionOf } from '../webview/panelSession.ts';
import type { KeptTrial } from './keptTrial.ts';

export interface TrialSurroundings {
  /** Shows both sides of a pair in the diff editor. */
  readonly openCase: (last: KeptTrial, index: number) => Promise<void>;
  /** Asks for a configuration and writes the change into it. */
  readonly keep: (last: KeptTrial) => Promise<void>;
  /** Tries the same change with a budget in evaluator calls, on these problems. */
  readonly tryAgain: (last: KeptTrial, budget: number, problems: TrialProblems) => Promise<void>;
  readonly editPrompt: (run: string, role: string) => Promise<void>;
}

export class TrialSession implements SessionOf<typeof TRIAL_PANEL> {
  private readonly page: Page<TrialFromHost>;
  private readonly around: TrialSurroundings;
  private last: KeptTrial;
  readonly failsBeside = true;
  readonly events: EventsOf<typeof TRIAL_PANEL> = {
    ready: () => this.tell(),
    openCase: async ({ index }) => {
      if (index < this.last.trial.cases.length) {
        await this.around.openCase(this.last, index);
      }
    },
    keep: () => this.around.keep(this.last),
    further: () => this.around.tryAgain(this.last, 2 * this.last.budget, this.last.problems ?? 'all'),
    lost: () => this.around.tryAgain(this.last, this.last.budget, 'lost'),
    edit: async () => {
      const role = findPromptRole(this.last);
      if (role !== null) {
        await this.around.editPrompt(this.last.trial.run, role);
      }
    },
  };

  constructor(last: KeptTrial, page: Page<TrialFromHost>, around: TrialSurroundings) {
    this.last = last;
    this.page = page;
    this.around = around;
  }

  /** The run whose team was changed. */
  get shownRun(): string {
    return this.last.trial.run;
  }

  /** Shows another trial, or the new state of this one. */
  show(last: KeptTrial): void {
    this.last = last;
    this.tell();
  }

  private tell(): void {
    this.page.postNewest({ type: 'trial', trial: toShownTrial(this.last) });
  }
}

function findPromptRole({ change: { prompts } }: KeptTrial): string | null {
  return Object.keys(prompts)[0] ?? null;
}

/** Converts a trial for its page. */
function toShownTrial(last: KeptTrial): ShownTrial {
  const { cases, ...trial } = last.trial;
  const { low, high, n } = trial.difference;
  return {
    ...trial,
    run: last.title,
    change: describeTeamChange(last.change),
    cases: cases.map(({ question, before, after }) => ({ question, before: before.return, after: after.return })),
    prompt: findPromptRole(last),
    isOnLost: last.problems === 'lost',
    isOpen: n > 0 && low <= 0 && high >= 0,
    canKeep: last.team === undefined,
    kept: last.kept,
  };
}
