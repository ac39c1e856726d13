/** Formats checks of findings as JUnit XML, which CI servers read. */

import type { CheckedFinding } from '../../domain/answer.ts';

/** Worse than expected is a failure, not checked is an error, undecided is skipped. */
export function formatJunit(findings: readonly CheckedFinding[], seconds: number): string {
  const count = (is: (one: CheckedFinding) => boolean): string => String(findings.filter(is).length);
  const totals = [
    `tests="${findings.length}"`,
    `failures="${count(({ passed }) => passed === false)}"`,
    `errors="${count(({ error }) => error !== null)}"`,
    `skipped="${count(({ passed, error }) => passed === null && error === null)}"`,
    `time="${seconds.toFixed(3)}"`,
  ].join(' ');
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals}>`,
    `  <testsuite name="c3 check" ${totals}>`,
    ...findings.map(formatTestCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function formatTestCase({ file, title, verdict, passed, sentence, error }: CheckedFinding): string {
  const name = `    <testcase classname="${escapeXml(file)}" name="${escapeXml(title)}"`;
  const message = `message="${escapeXml(sentence)}"`;
  if (error !== null) {
    return `${name}><error ${message}/></testcase>`;
  }
  if (passed === null) {
    return `${name}><skipped ${message}/></testcase>`;
  }
  return passed
    ? `${name}><system-out>${escapeXml(sentence)}</system-out></testcase>`
    : `${name}><failure type="${verdict}" ${message}/></testcase>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\t': '&#9;',
};
/** Characters that XML 1.0 cannot represent in any form. */
const FORBIDDEN = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

const escapeXml = (text: string): string =>
  text.replaceAll(FORBIDDEN, '\u{fffd}').replaceAll(/[&<>"\n\t]/gu, (sign) => ENTITIES[sign] ?? sign);
