/** The keys of a run configuration for files that a run writes besides the store. */

import { z } from 'zod';

export const outputSchema = z
  .strictObject({
    save_model: z
      .boolean()
      .default(false)
      .describe(
        'true writes the trained weights into a folder when the run ends: a model in the Hugging Face layout, ' +
          'or the adapters if adapters were trained.',
      )
      .meta({ earlier: false }),
    save_path: z
      .string()
      .min(1)
      .max(500)
      .nullable()
      .default(null)
      .describe(
        'This folder, relative to this file, takes the weights of `save_model`. It must be new or empty. ' +
          'null takes `output/` with the id of the run.',
      )
      .meta({ earlier: null }),
    verbose: z
      .boolean()
      .default(false)
      .describe('true prints messages and returns of the first question of each step while the run is in progress.')
      .meta({ earlier: false }),
  })
  .prefault({})
  .describe('These keys say what a run writes besides the store.')
  .meta({ since: '0.2.0' });
