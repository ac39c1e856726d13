/** Measures of a teamtr step with `teamtr.diagnostics`: drift, zeta proxy, and reliability of the KL. */

import { mean } from '../../credit/describe.ts';
import { MEASURED_ROLE_TURNS, type DriftMeasureName, type OwnMeasures } from '../../domain/step.ts';
import { boundOccupancyShift } from '../certificate.ts';
import type { Divergence, Move } from '../divergence.ts';
import { measureStaleness, measureSubsampledKl, measureZetaProxy, type Subsampled, type ZetaProxy } from '../drift.ts';
import type { LearningStep } from './method.ts';
import type { MeasuredTurn } from './teamTrMeasures.ts';

type Diagnostics = Pick<OwnMeasures, DriftMeasureName>;
type Step = Pick<LearningStep, 'settings' | 'roles' | 'random'>;

/** Shares of the tokens, in percent, that a KL is measured on. */
const SHARES = [25, 50] as const;

/** Collects the diagnostics over the turns of one step. */
export class DriftWatch {
  private readonly step: Step;
  /** The changes of the step's first messages before the turns that are not yet counted. */
  private before: ReadonlyMap<string, Move & { readonly role: string }> = new Map();
  private readonly gaps: (number | null)[] = [];
  private readonly drifts: number[] = [];
  private readonly kls: number[] = [];
  private readonly zetas: ZetaProxy[] = [];
  private readonly parts = new Map<number, Subsampled[]>();
  private largest: number;

  constructor(step: Step) {
    this.step = step;
    this.largest = step.settings.teamtr.certificate_bound;
  }

  /** Returns the roles that an update of a role changes: all if they share weights, or at first. */
  movedWith(role: string): readonly string[] {
    const apart = this.step.settings.adapter?.per === 'role';
    return apart && this.before.size > 0 ? [role] : this.step.roles;
  }

  /**
   * Counts a turn.
   * @param first the changes of the step's first messages, at least for the roles that the turn moved
   */
  turn(
    role: string,
    { moves, moved }: Pick<MeasuredTurn, 'moves' | 'moved'>,
    first: ReadonlyMap<string, Divergence> | undefined,
  ): void {
    const { teamtr } = this.step.settings;
    const changed = [...(first ?? [])].flatMap(([name, { moves: own = [] }]) =>
      own.map((move) => [`${move.episode} ${move.place}`, { ...move, role: name }] as const),
    );
    const after = new Map([...this.before, ...changed]);
    const found = measureStaleness(
      [...after].map(([key, move]) => ({
        ...move,
        before: this.before.get(key)?.logRatio ?? 0,
        after: move.logRatio,
        own: move.role === role,
      })),
      { clip: teamtr.clip, gamma: teamtr.certificate_gamma },
    );
    this.before = after;
    this.gaps.push(found?.gap ?? null);
    this.drifts.push(found?.drift ?? 0);
    this.kls.push(moved);
    this.largest = moves.reduce((most, { worth }) => Math.max(most, Math.abs(worth)), this.largest);
    const standard = { scale: teamtr.advantage_scale, epsilon: teamtr.advantage_epsilon, clip: teamtr.advantage_clip };
    const zeta = measureZetaProxy(moves, { clip: teamtr.clip, standard }, this.step.random(`halves:${role}`));
    this.zetas.push(...(zeta === null ? [] : [zeta]));
    for (const percent of SHARES) {
      const estimator = teamtr.kl_estimator === 'k1' ? 'k1' : 'k3';
      const own = measureSubsampledKl(
        moves,
        { share: percent / 100, delta: teamtr.delta, estimator },
        this.step.random(`tokens:${percent}:${role}`),
      );
      this.parts.set(percent, [...(this.parts.get(percent) ?? []), own]);
    }
  }

  measures(): Diagnostics {
    const { certificate_gamma: gamma } = this.step.settings.teamtr;
    // The first turn's episodes come from the team that it changes.
    const gaps = this.gaps.slice(1).flatMap((gap) => gap ?? []);
    const shifts = this.kls.map((kl) => boundOccupancyShift(kl, gamma));
    const since = shifts.map((_, place) => shifts.slice(0, place).reduce((sum, one) => sum + one, 0));
    const zeta = (part: keyof ZetaProxy): number => mean(this.zetas.map((one) => one[part]));
    return {
      ...this.perTurn(),
      ...(gaps.length > 0 && {
        staleGap: gaps.reduce((sum, one) => sum + one, 0),
        staleGapBound: (this.largest * since.reduce((sum, one) => sum + one, 0)) / (1 - gamma),
        occupancyDrift: this.drifts.reduce((sum, one) => sum + one, 0),
      }),
      ...(this.zetas.length > 0 && {
        zetaProxy: zeta('clip') + zeta('ratio') + zeta('norm'),
        zetaClip: zeta('clip'),
        zetaRatio: zeta('ratio'),
        zetaNorm: zeta('norm'),
      }),
      ...this.reliability(25),
      ...this.reliability(50),
    };
  }

  private perTurn(): Diagnostics {
    return Object.fromEntries(
      MEASURED_ROLE_TURNS.flatMap((turn): (readonly [DriftMeasureName, number])[] => {
        const [gap = null, kl] = [turn === 1 ? null : this.gaps[turn - 1], this.kls[turn - 1]];
        return [
          ...(gap === null ? [] : [[`staleGapTurn${turn}`, gap] as const]),
          ...(kl === undefined ? [] : [[`klTurn${turn}`, kl] as const]),
        ];
      }),
    );
  }

  private reliability(percent: (typeof SHARES)[number]): Diagnostics {
    const parts = this.parts.get(percent) ?? [];
    const errors = parts.flatMap((part) => part.errors).toSorted((one, other) => one - other);
    const flips = parts.flatMap((part) => part.flips);
    const at = (share: number): number => errors[Math.round(share * (errors.length - 1))] ?? 0;
    return {
      ...(errors.length > 0 && { [`monitorError${percent}`]: at(0.5), [`monitorError${percent}P90`]: at(0.9) }),
      ...(flips.length > 0 && { [`monitorFlips${percent}`]: mean(flips.map(Number)) }),
    };
  }
}
