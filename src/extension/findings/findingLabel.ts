/** What the editor shows of the file of a finding, and which message it is about. Pure. */
import { isRecord } from '../../shared/guard.ts';
import { parseYaml, yamlValue } from '../../shared/text/yaml.ts';
import { FINDING_FILE } from '../../domain/findings.ts';

/** The name of a file without what all findings end with. */
export const labelOf = (path: string): string => (path.split('/').at(-1) ?? '').slice(0, -FINDING_FILE.length);

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
