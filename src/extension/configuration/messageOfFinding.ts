/** Which message the file of a finding is about. Pure; in the bundle of configurations, which has the parser. */
import { isRecord } from '../../shared/guard.ts';
import { parseYaml, yamlValue } from '../../shared/text/yaml.ts';

/** The message that a finding was kept from; null where the text is no finding. */
export function messageOfFinding(text: string): { readonly run: string; readonly message: number } | null {
  let value: unknown;
  try {
    value = yamlValue(parseYaml(text));
  } catch {
    return null;
  }
  const from = isRecord(value) ? value['from'] : undefined;
  const { run, message } = isRecord(from) ? from : {};
  return typeof run === 'string' && typeof message === 'number' && Number.isSafeInteger(message)
    ? { run, message }
    : null;
}
