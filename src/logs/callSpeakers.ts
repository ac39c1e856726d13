/** Who speaks in calls that pass by, when nobody knows yet who will: by name, else by system prompt. */
import type { ParsedMessage } from '../chat/messages.ts';
import type { Survey } from './episode.ts';
import { promptHash } from './traces.ts';

/** Of more, each says something else every time. */
const MOST_PROMPTS = 1000;

export class CallSpeakers {
  private readonly survey: Survey;
  private readonly numbers = new Map<string, number>();

  constructor(survey: Survey) {
    this.survey = survey;
  }

  /** @param name that the program gave with the call; null where it gave none */
  of(name: string | null, input: readonly ParsedMessage[]): string {
    if (name !== null) {
      return this.survey.speaker(name, 'name');
    }
    const hash = promptHash(input);
    const known = this.numbers.get(hash) ?? Math.min(this.numbers.size, MOST_PROMPTS) + 1;
    if (known <= MOST_PROMPTS) {
      this.numbers.set(hash, known);
    }
    return this.survey.speaker(`agent ${String(known)}`, 'system prompt');
  }
}
