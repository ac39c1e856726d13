/** Labels speakers that only system prompts tell apart: by the prompt's name, or by number. */

import type { ChatMessage } from '../chat/messages.ts';
import type { SpeakerSource } from '../domain/episode.ts';
import { findPromptName, systemPrompt } from './promptName.ts';

export interface PromptLabel {
  readonly name: string;
  readonly by: SpeakerSource;
}

/** Gives each label once, ignoring case. */
export class PromptLabels {
  private readonly taken: Set<string>;
  private numbers = 0;

  /** @param taken names that other speakers have */
  constructor(taken: Iterable<string> = []) {
    this.taken = new Set([...taken].map((name) => name.toLowerCase()));
  }

  /** Returns the label for the name in a prompt, or null if there is none or it is taken. */
  named(name: string | null): PromptLabel | null {
    if (name === null || this.taken.has(name.toLowerCase())) {
      return null;
    }
    this.taken.add(name.toLowerCase());
    return { name, by: 'prompt name' };
  }

  /** Returns the labels of several prompts. A name that two prompts give is used for neither. */
  namedTogether(names: readonly (string | null)[]): readonly (PromptLabel | null)[] {
    const byName = Map.groupBy(names, (name) => name?.toLowerCase());
    return names.map((name) => (byName.get(name?.toLowerCase())?.length === 1 ? this.named(name) : null));
  }

  /** Returns the next of `agent 1`, `agent 2`, ... that is not taken. */
  number(): string {
    do {
      this.numbers++;
    } while (this.taken.has(`agent ${this.numbers}`));
    return `agent ${this.numbers}`;
  }
}

/**
 * Returns the label of the speaker of all unnamed messages in a conversation.
 * @param others names of further speakers of the conversation
 */
export function soleSpeaker(messages: readonly ChatMessage[], others: Iterable<string> = []): PromptLabel {
  const taken = [...messages.flatMap(({ name }) => name ?? []), ...others];
  return (
    new PromptLabels(taken).named(findPromptName(systemPrompt(messages))) ?? { name: 'assistant', by: 'only speaker' }
  );
}
