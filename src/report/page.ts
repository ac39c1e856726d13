/**
 * The frame of every report page: one HTML file without scripts or external resources, light or
 * dark like the reader's system, and printable. Pure: text out.
 */

import type { Interval } from '../domain/credit.ts';
import { escapeText, NOT_MEASURED } from './words.ts';

/** The beginning of every page. Its policy forbids scripts and external resources. */
const HEAD = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
`;

/**
 * Writes a page.
 * @param title text
 * @param content markup of the page's main part
 * @param style CSS rules in addition to those of all pages
 * @param landscape orientation for printing
 */
export function writePage(title: string, content: string, style = '', landscape = false): string {
  return `${HEAD}<title>${escapeText(title)}</title><style>${STYLE}${style}@page { size: A4${landscape ? ' landscape' : ''}; margin: 12mm; }
</style></head><body><main>
${content}
</main></body></html>
`;
}

/**
 * Writes a table that scrolls by itself if the page is too narrow.
 * @param head cells of the first row, markup
 * @param lines markup of the rows, or of whole bodies of rows; the first cell of each is its
 *   heading
 * @param kind class of the table
 */
export function table(label: string, head: readonly string[], lines: readonly string[], kind = ''): string {
  return `<div class="wide" role="region" tabindex="0" aria-label="${escapeText(label)}"><table${kind === '' ? '' : ` class="${kind}"`}><thead><tr>${head.map((cell) => `<th scope="col">${cell}</th>`).join('')}</tr></thead>${lines.join('')}</table></div>`;
}

/**
 * Writes a row of a table.
 * @param head markup of its heading
 * @param cells markup
 */
export const row = (head: string, cells: readonly string[]): string =>
  `<tr><th scope="row">${head}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

/**
 * Returns the page to show in the editor for a file, in the colors of the editor's theme, which may
 * differ from those of the reader's system. If the file is missing or is not a report, the page
 * says so in one sentence, because only a page with our beginning is kept from scripts and the
 * network.
 * @param content null if it cannot be read
 */
export function writeEditorPage(name: string, content: string | null): string {
  const html =
    content?.startsWith(HEAD) === true
      ? content
      : writePage(
          name,
          `<p>${escapeText(
            content === null
              ? `The report ${name} cannot be read any more: export it again, or close this tab.`
              : `The file ${name} is not a report that this version of C3 wrote: open it as text, or in a browser.`,
          )}</p>`,
        );
  return html.replace('</style>', `${EDITOR_STYLE}</style>`);
}

/**
 * Writes names with their values, side by side if there is room.
 * @param all names and markup
 */
export function facts(all: readonly (readonly [name: string, value: string])[]): string {
  return `<dl class="facts">${all.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>`;
}

/**
 * Writes a picture with the numbers behind it.
 * @param drawn null if there is nothing to draw
 * @param numbers markup; empty for none
 */
export function figure(title: string, drawn: string | null, note: string, numbers: string): string {
  const details = numbers === '' ? '' : `<details><summary>The numbers of this picture</summary>${numbers}</details>`;
  return `<figure><h3>${title}</h3>${drawn === null ? `<p class="none">${NOT_MEASURED}</p>` : `${drawn}<figcaption>${note}</figcaption>${details}`}</figure>`;
}

/** Writes an interval as `[0.10, 0.52]`. Returns null if it could not be estimated. */
export const formatBounds = (
  { low, high }: Pick<Interval, 'low' | 'high'>,
  write: (value: number) => string,
): string | null => (low === null || high === null ? null : `[${write(low)}, ${write(high)}]`);

/** Writes a time as `2026-11-21 09:14 UTC`. Any other text is only escaped. */
export function formatTime(time: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z$/u.exec(time);
  return parts === null ? escapeText(time, 60) : `${parts[1] ?? ''} ${parts[2] ?? ''} UTC`;
}

const STYLE = `
:root { --ground: #fff; --text: #1b1f24; --soft: #59636e; --rule: #d5dae0; --grid: #e8ebee; --wash: #f5f7f9;
  --c0: #0b5fa5; --c1: #b85c00; --c2: #00785a; --c3: #8b3d94; --c4: #b5263f; --c5: #1a7a8c; --c6: #7a5c17; --c7: #56606b; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ground: #15181c; --text: #e4e8ec; --soft: #9aa5b1; --rule: #3a424b; --grid: #272d34; --wash: #1d2126;
    --c0: #6db5f8; --c1: #f2a25c; --c2: #50c79f; --c3: #d49fe0; --c4: #ff8497; --c5: #5fcbdd; --c6: #d6b46a; --c7: #a9b3bd; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { margin: 0 0 8px; font-size: 24px; font-weight: 600; line-height: 1.2; }
h2 { margin: 0; padding-top: 10px; border-top: 2px solid var(--text); font-size: 19px; font-weight: 600; overflow-wrap: anywhere; }
h3 { margin: 22px 0 6px; font-size: 14px; font-weight: 600; }
p { margin: 6px 0; max-width: 90ch; }
section { margin-top: 34px; }
.note, figcaption, .facts dt, small, .none { color: var(--soft); }
.note, figcaption { margin: 6px 0; font-size: 12px; }
pre { margin: 10px 0; padding: 8px 10px; background: var(--wash); white-space: pre-wrap; overflow-wrap: anywhere; }
code { padding: 0; background: none; color: inherit; font: 12.5px/1.4 ui-monospace, SFMono-Regular, Consolas, "Liberation Mono", monospace; }
.facts { display: flex; flex-wrap: wrap; gap: 6px 24px; margin: 10px 0; }
.facts dt, .facts dd { margin: 0; font-size: 12px; line-height: 1.35; }
.facts dd { font-size: 13px; overflow-wrap: anywhere; }
nav a { margin-right: 16px; color: inherit; }
.wide { position: relative; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; line-height: 1.3; font-variant-numeric: tabular-nums; }
thead { border-bottom: 1px solid var(--text); }
tbody + tbody, tr + tr, tr + tbody { border-top: 1px solid var(--rule); }
table { border-top: 1px solid var(--text); border-bottom: 1px solid var(--text); }
th, td { padding: 5px 6px; text-align: right; vertical-align: top; font-weight: normal; }
th:first-child, td:first-child { padding-left: 2px; text-align: left; }
th:last-child, td:last-child { padding-right: 2px; }
thead th { vertical-align: bottom; font-weight: 600; }
tbody th { font-weight: 600; overflow-wrap: break-word; min-width: 74px; max-width: 240px; }
small { display: block; font-size: 11px; font-weight: normal; white-space: nowrap; }
strong { font-weight: 700; }
.none { font-style: italic; }
.words td, .words th { padding-right: 10px; text-align: left; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 0 32px; }
figure { margin: 0; min-width: 0; max-width: 660px; }
summary { width: fit-content; font-size: 12px; cursor: pointer; }
details .wide { max-height: 420px; overflow-y: auto; margin-top: 6px; }
.picture { display: block; width: 100%; height: auto; font-size: 12px; }
.picture text { fill: var(--text); }
.picture .tick, .picture .name { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
.picture .label { fill: var(--ink); paint-order: stroke; stroke: var(--ground); stroke-width: 3px; stroke-linejoin: round; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--soft); }
.line { fill: none; stroke: var(--ink); stroke-width: 1.8; stroke-linejoin: round; }
.band { fill: var(--ink); fill-opacity: 0.12; }
.bar, .leader { fill: none; stroke: var(--ink); stroke-width: 1.2; }
.leader { stroke-width: 0.8; }
.mark { fill: var(--ink); stroke: var(--ink); stroke-width: 1.4; stroke-linejoin: round; }
.hollow { fill: var(--ground); fill-opacity: 0.75; }
.front { fill: none; stroke: var(--soft); stroke-width: 1.2; }
.m0 { --ink: var(--c0); } .m1 { --ink: var(--c1); } .m2 { --ink: var(--c2); } .m3 { --ink: var(--c3); }
.m4 { --ink: var(--c4); } .m5 { --ink: var(--c5); } .m6 { --ink: var(--c6); } .m7 { --ink: var(--c7); }
.reading dt { margin-top: 8px; font-weight: 600; }
.reading dd { margin: 0; max-width: 90ch; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:focus-visible { outline: 2px solid var(--c0); outline-offset: 1px; }
@media print, (max-width: 1000px) {
  main { padding: 20px 8px 36px; }
  table { font-size: 12px; }
  thead th { font-size: 11px; }
  tbody th { min-width: 62px; }
  small { font-size: 10px; }
}
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  figure details { display: none; }
  .wide { overflow: visible; }
  tr, figure, dt { break-inside: avoid; }
  h2, h3, dt { break-after: avoid; }
  .figures { grid-template-columns: 1fr 1fr; }
}
`;

const EDITOR_STYLE = `
:root:root { --ground: var(--vscode-editor-background); --text: var(--vscode-editor-foreground); --soft: var(--vscode-descriptionForeground);
  --rule: color-mix(in srgb, var(--text) 30%, transparent); --grid: color-mix(in srgb, var(--text) 15%, transparent); --wash: var(--vscode-textCodeBlock-background);
  --c0: var(--vscode-charts-blue); --c1: var(--vscode-charts-orange); }
body { padding: 0; }
.vscode-high-contrast pre, .vscode-high-contrast .fill { outline: 1px solid var(--vscode-contrastBorder); }
`;
