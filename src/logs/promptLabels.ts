/** What those are called whom only their system prompts tell apart: the name that a prompt gives, else a number. */
import type { ChatMessage } from '../chat/messages.ts';
import type { SpeakerSource } from '../domain/episode.ts';
import { promptName, systemPrompt } from './promptName.ts';

export interface PromptLabel {
  readonly name: string;
  readonly by: SpeakerSource;
}

/** Gives each label once, however it is written. */
export class PromptLabels {
  private readonly taken: Set<string>;
  private numbers = 0;

  /** @param taken names that others have */
  constructor(taken: Iterable<string> = []) {
    this.taken = new Set([...taken].map((name) => name.toLowerCase()));
  }

  /** The label that the name of a prompt makes; null where it is none or somebody has it. */
  named(name: string | null): PromptLabel | null {
    if (name === null || this.taken.has(name.toLowerCase())) {
      return null;
    }
    this.taken.add(name.toLowerCase());
    return { name, by: 'prompt name' };
  }

  /** The labels of several prompts, known together: a name that two of them give is neither's. */
  namedTogether(names: readonly (string | null)[]): readonly (PromptLabel | null)[] {
    const byName = Map.groupBy(names, (name) => name?.toLowerCase());
    return names.map((name) => (byName.get(name?.toLowerCase())?.length === 1 ? this.named(name) : null));
  }

  /** The next of `agent 1`, `agent 2`, ...; a number that is part of another label is left out. */
  number(): string {
    do {
      this.numbers++;
    } while (this.taken.has(`agent ${this.numbers}`));
    return `agent ${this.numbers}`;
  }
}

/** Who says what nobody is named for in a conversation. @param others names that further speakers of it have */
export function soleSpeaker(messages: readonly ChatMessage[], others: Iterable<string> = []): PromptLabel {
  const taken = [...messages.flatMap(({ name }) => name ?? []), ...others];
  return new PromptLabels(taken).named(promptName(systemPrompt(messages))) ?? { name: 'assistant', by: 'only speaker' };
}
