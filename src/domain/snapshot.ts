/** A snapshot: frozen weights of a policy, and the machine on which they answer. */

/** The iteration of weights that a run never trained: another model's, which continued replays of it. */
export const OTHER_MODEL = -1;

/** The iteration of weights that a run had between two updates of a step only, when it sampled a stage. */
export const WITHIN_STEP = -2;

/** The step after which a run had the weights of a snapshot's iteration; null for those that it had after none. */
export const stepOfWeights = (iteration: number): number | null => (iteration < 0 ? null : iteration);

/**
 * The weights that sampled a message, frozen and named by their hash. Training makes a new one at each step.
 * @term snapshot
 */
export interface Snapshot {
  /** Hash of the weights. */
  readonly id: string;
  readonly run: string;
  /**
   * 0 for the weights that the run began with; WITHIN_STEP for those that it had between two updates of a step only,
   * OTHER_MODEL for those of another model.
   */
  readonly iteration: number;
  /** Folder (or address) of the model that the run began with, or of the other model. */
  readonly base: string;
  /** File of these weights; null where they are the base's own or have to be rebuilt. */
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
