/** Reads the team of a run with its prompts. In the bundle of configurations, with the parser. */

import { isRecord } from '../../shared/guard.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { findPromptFault, replacePrompts } from '../../team/prompts.ts';
import type { Protocol } from '../../team/protocol.ts';
import { readStoredRounds } from '../../training/config/config.ts';

export { findPromptFault as promptFault };

/** @param stored the run's recipe as the store holds it @returns null if it has no readable protocol */
export function runTeam(stored: string): Protocol | null {
  try {
    const recipe: unknown = JSON.parse(stored);
    const { protocolText: text, protocolSource: source, config } = isRecord(recipe) ? recipe : {};
    if (typeof text !== 'string') {
      return null;
    }
    const prompts = isRecord(config) && isRecord(config['prompts']) ? config['prompts'] : {};
    const texts = Object.entries(prompts).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const protocol = parseProtocol(text, typeof source === 'string' ? source : 'protocol', readStoredRounds(config));
    return replacePrompts(protocol, Object.fromEntries(texts));
  } catch {
    return null;
  }
}
