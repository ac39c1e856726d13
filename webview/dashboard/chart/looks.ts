/** The looks that distinguish the lines of runs: color, dashes and marker. */
export interface Look {
  /** CSS variable of a chart color of the theme. */
  readonly colour: string;
  readonly dashes: readonly number[];
  readonly marker: 'circle' | 'rect' | 'triangle' | 'rectRot' | 'crossRot' | 'star';
}

const LOOKS: readonly [Look, ...Look[]] = [
  { colour: '--vscode-charts-blue', dashes: [], marker: 'circle' },
  { colour: '--vscode-charts-yellow', dashes: [6, 3], marker: 'rect' },
  { colour: '--vscode-charts-purple', dashes: [2, 2], marker: 'triangle' },
  { colour: '--vscode-charts-green', dashes: [9, 3, 2, 3], marker: 'rectRot' },
  { colour: '--vscode-charts-red', dashes: [12, 4], marker: 'crossRot' },
  { colour: '--vscode-foreground', dashes: [4, 2, 1, 2], marker: 'star' },
];
const QUIET: Look = { colour: '--vscode-descriptionForeground', dashes: [], marker: 'circle' };

export const chooseLook = (index: number): Look => (index < 0 ? QUIET : (LOOKS[index] ?? LOOKS[0]));
