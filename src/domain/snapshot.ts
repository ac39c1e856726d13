/** A snapshot: frozen weights of a policy, and the machine on which they answer. */

/** The iteration of another model's weights, which continued replays of the run. */
export const OTHER_MODEL = -1;

/** The iteration of weights that a run had only between two updates of a step, when it sampled a stage. */
export const WITHIN_STEP = -2;

/** Returns the step after which a run had a snapshot's weights, or null if no step ended with them. */
export const toWeightsStep = (iteration: number): number | null => (iteration < 0 ? null : iteration);

/**
 * The weights that sampled a message, frozen and named by their hash. Training makes a new one at each step.
 * @term snapshot
 */
export interface Snapshot {
  /** Hash of the weights. */
  readonly id: string;
  readonly run: string;
  /**
   * 0 for the weights at the beginning of the run, WITHIN_STEP for weights between two updates of a
   * step, and OTHER_MODEL for those of another model.
   */
  readonly iteration: number;
  /** Folder (or address) of the model that the run began with, or of the other model. */
  readonly base: string;
  /** File of these weights, or null if they are the base's own or have to be rebuilt. */
  readonly file: string | null;
}

/** Everything outside the weights that the bytes of a replay may depend on. */
export interface NumericEnvironment {
  readonly runtime: string;
  readonly provider: string;
  readonly device: string;
  readonly threads: number;
  readonly platform: string;
}
