/** The figure of contributions by pairing of models: one dot for each role of a run. */

import {
  findRoleModel,
  formatNumberedModels,
  groupTeamPairings,
  type TeamContributions,
} from '../../src/domain/stepRows.ts';
import { count, NOT_MEASURED } from '../common/format.ts';
import type { Line, LinePoint } from './chart/lines.ts';
import { digits3, numberCell, runCells, runColumns, signed3, textCell, type FigureSpec } from './figures.ts';
import type { ShownRun, View } from './view.ts';

interface ShownTeam extends TeamContributions {
  readonly shown: ShownRun;
}

/** One role of one run. */
interface Dot {
  readonly shown: ShownRun;
  readonly pairing: string;
  readonly role: string;
  readonly model: string;
  readonly mean: number;
  readonly deviation: number;
  readonly x: number;
}

/** Distance of the outermost roles of a pairing from its tick, in ticks. */
const APART = 0.24;

const findPairings = (view: View): ReturnType<typeof groupTeamPairings<ShownTeam>> =>
  groupTeamPairings(
    view.runs.map((shown): ShownTeam => {
      const last = shown.rows.at(-1);
      return {
        run: shown.record.id,
        models: shown.models,
        roles: last?.credits.roles.map(({ role }) => role) ?? [],
        contributions: last?.contributions ?? [],
        shown,
      };
    }),
  );

function buildDots(view: View): readonly Dot[] {
  return findPairings(view).pairings.flatMap(({ label, teams }, place) =>
    teams.flatMap(({ shown, models, roles, contributions }) =>
      contributions.map(({ role, mean, deviation }, index) => ({
        shown,
        pairing: label,
        role,
        // In a team of a thinker and a solver only the thinker is measured. It speaks first.
        model: findRoleModel(models, roles.includes(role) ? role : (roles[0] ?? role)),
        mean,
        deviation,
        x: place + 1 + (contributions.length < 2 ? 0 : APART * ((2 * index) / (contributions.length - 1) - 1)),
      })),
    ),
  );
}

/**
 * Returns the figure if the shown runs have more than one model. The id of the figure contains the
 * models, because its ticks depend on them.
 */
export function pairingFigures(view: View): readonly FigureSpec[] {
  const { models, pairings } = findPairings(view);
  return models.length < 2
    ? []
    : [
        pairingFigure(
          models,
          pairings.map(({ label }) => label),
        ),
      ];
}

function pairingFigure(models: readonly string[], labels: readonly string[]): FigureSpec {
  return {
    id: `contribution by pairing ${JSON.stringify([models, labels])}`,
    title: 'Contribution by pairing of models',
    note:
      'What each role contributed to teams of these models, after the last step of each shown run: the ' +
      'running mean that the method keeps. A tick names the models of the roles in their order.',
    x: () => ({ title: formatNumberedModels(models), format: (value) => labels[value - 1] ?? '' }),
    yAxis: 'return',
    formatY: digits3,
    always: [-0.05, 0.05],
    boxes: false,
    ownAxis: true,
    smooth: false,
    nothing: 'No step has measured this yet.',
    lines: (view): readonly Line[] =>
      [...Map.groupBy(buildDots(view), ({ role }) => role)].map(([role, dots], look) => ({
        label: role,
        name: '',
        look,
        joined: false,
        points: dots.map(({ shown, pairing, model, mean, deviation, x }, index): LinePoint => ({
          x,
          y: mean,
          low: null,
          high: null,
          box: null,
          label: index === dots.length - 1 ? role : '',
          target: { kind: 'run', run: shown.record.id },
          words: () => [
            `pairing ${pairing}`,
            model,
            `contribution ${signed3(mean)}`,
            `deviation ${digits3(deviation)}`,
            `step ${count(shown.rows.at(-1)?.iteration ?? 0)}`,
            shown.record.title,
          ],
        })),
      })),
    table: (view) => ({
      columns: [
        ...runColumns(view),
        ...['Pairing', 'Role', 'Model'].map((name) => ({ name, numeric: false })),
        ...['Step', 'Contribution', 'Deviation'].map((name) => ({ name, numeric: true })),
      ],
      rows: buildDots(view).map(({ shown, pairing, role, model, mean, deviation }) => ({
        cells: [
          ...runCells(view, shown),
          textCell(pairing),
          textCell(role),
          textCell(model),
          numberCell(shown.rows.at(-1)?.iteration, count),
          numberCell(mean, signed3),
          numberCell(deviation, digits3),
        ],
        target: { kind: 'run', run: shown.record.id },
      })),
    }),
    latest: (view) => {
      const own = buildDots(view).filter(({ shown }) => shown === view.runs[0]);
      return own.length === 0 ? NOT_MEASURED : own.map(({ mean }) => signed3(mean)).join(', ');
    },
  };
}
