/** Who speaks in calls that pass by, when nobody knows yet who will: by name, else by system prompt. */
import type { ParsedMessage } from '../chat/messages.ts';
import type { Survey } from './episode.ts';
import { PromptLabels, type PromptLabel } from './promptLabels.ts';
import { promptName, systemPrompt } from './promptName.ts';
import { promptHash } from './traces.ts';

/** Of more, each says something else every time. */
const MOST_PROMPTS = 1000;

export class CallSpeakers {
  private readonly survey: Survey;
  private readonly labels = new PromptLabels();
  private readonly known = new Map<string, PromptLabel>();
  private further: PromptLabel | undefined;

  constructor(survey: Survey) {
    this.survey = survey;
  }

  /** @param given name that the program gave with the call; null where it gave none */
  of(given: string | null, input: readonly ParsedMessage[]): string {
    if (given !== null) {
      // From now on no prompt gives it to anybody else.
      this.labels.named(given);
      return this.survey.speaker(given, 'name');
    }
    const hash = promptHash(input);
    let label = this.known.get(hash);
    if (label === undefined && this.known.size < MOST_PROMPTS) {
      label = this.labels.named(promptName(systemPrompt(input))) ?? this.numbered();
      this.known.set(hash, label);
    }
    const { name, by } = label ?? (this.further ??= this.numbered());
    return this.survey.speaker(name, by);
  }

  private numbered(): PromptLabel {
    return { name: this.labels.number(), by: 'system prompt' };
  }
}
