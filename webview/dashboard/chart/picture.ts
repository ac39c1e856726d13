/** A chart as a picture with its title and legend, on the background of the theme. */
import { theme } from '../../common/theme.ts';
import { plainTitle } from '../view.ts';
import type { Line } from './lines.ts';
import { lookOf } from './looks.ts';
import type { Plot } from './plot.ts';

const SCALE = 2;
const MARGIN = 12;
const ROW = 18;

/** Draws a chart for copying. @param lines those that the legend names; none where there is one only */
export function pictureOf(plot: Plot, title: string, lines: readonly Line[]): HTMLCanvasElement {
  const page = document.createElement('canvas');
  const legend = lines.filter(({ label }) => label !== '');
  const rows = legend.length < 2 ? [] : legend;
  plot.picture(SCALE, (chart, width, height) => {
    page.width = SCALE * (width + 2 * MARGIN);
    page.height = SCALE * (height + 2 * MARGIN + ROW * (1 + rows.length));
    const ctx = page.getContext('2d');
    if (ctx === null) {
      return;
    }
    ctx.scale(SCALE, SCALE);
    ctx.fillStyle = theme('--vscode-editor-background');
    ctx.fillRect(0, 0, page.width, page.height);
    ctx.textBaseline = 'middle';
    ctx.fillStyle = theme('--vscode-foreground');
    ctx.font = `600 13px ${theme('--vscode-font-family')}`;
    ctx.fillText(plainTitle(title), MARGIN, MARGIN + ROW / 2, width);
    ctx.drawImage(chart, MARGIN, MARGIN + ROW, width, height);
    ctx.font = `12px ${theme('--vscode-font-family')}`;
    rows.forEach(({ label, name, look }, index) => {
      const y = MARGIN + ROW * (1.5 + index) + height;
      ctx.strokeStyle = theme(lookOf(look).colour);
      ctx.lineWidth = 2;
      ctx.setLineDash([...lookOf(look).dashes]);
      ctx.beginPath();
      ctx.moveTo(MARGIN, y);
      ctx.lineTo(MARGIN + 32, y);
      ctx.stroke();
      ctx.fillText(plainTitle(`${label}  ${name}`), MARGIN + 40, y, width - 40);
    });
  });
  return page;
}

/** Puts a picture on the clipboard. Rejects where the editor's window does not let it. */
export async function copyPicture(page: HTMLCanvasElement): Promise<void> {
  const blob = new Promise<Blob>((resolve, reject) => {
    page.toBlob((made) => {
      if (made === null) {
        reject(new Error('the picture could not be drawn'));
      } else {
        resolve(made);
      }
    }, 'image/png');
  });
  await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
}
