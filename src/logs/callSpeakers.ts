/** Names the speakers of calls while they pass by: by the given name, or else by the system prompt. */

import type { ParsedMessage } from '../chat/messages.ts';
import type { Survey } from './episode.ts';
import { PromptLabels, type PromptLabel } from './promptLabels.ts';
import { findPromptName, systemPrompt } from './promptName.ts';
import { hashPrompt } from './traces.ts';

/** The most system prompts that get a speaker each. Beyond it, prompts usually differ in every call. */
const MOST_PROMPTS = 1000;

export class CallSpeakers {
  private readonly survey: Survey;
  private readonly labels = new PromptLabels();
  private readonly known = new Map<string, PromptLabel>();
  private further: PromptLabel | undefined;

  constructor(survey: Survey) {
    this.survey = survey;
  }

  /**
   * Returns the speaker of a call.
   * @param given name that the program gave with the call, or null
   */
  of(given: string | null, input: readonly ParsedMessage[]): string {
    if (given !== null) {
      // No prompt may give this name to another speaker from now on.
      this.labels.named(given);
      return this.survey.speaker(given, 'name');
    }
    const hash = hashPrompt(input);
    let label = this.known.get(hash);
    if (label === undefined && this.known.size < MOST_PROMPTS) {
      label = this.labels.named(findPromptName(systemPrompt(input))) ?? this.numbered();
      this.known.set(hash, label);
    }
    const { name, by } = label ?? (this.further ??= this.numbered());
    return this.survey.speaker(name, by);
  }

  private numbered(): PromptLabel {
    return { name: this.labels.number(), by: 'system prompt' };
  }
}
