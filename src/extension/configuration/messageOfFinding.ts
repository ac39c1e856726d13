/** Reads the message of a finding's file. Pure. In the bundle of configurations, with the parser. */

import { isRecord } from '../../shared/guard.ts';
import { parseYaml, readYamlValue } from '../../shared/text/yaml.ts';

/** Returns the message from which a finding was kept, or null if the text is not a finding. */
export function messageOfFinding(text: string): { readonly run: string; readonly message: number } | null {
  let value: unknown;
  try {
    value = readYamlValue(parseYaml(text));
  } catch {
    return null;
  }
  const from = isRecord(value) ? value['from'] : undefined;
  const { run, message } = isRecord(from) ? from : {};
  return typeof run === 'string' && typeof message === 'number' && Number.isSafeInteger(message)
    ? { run, message }
    : null;
}
