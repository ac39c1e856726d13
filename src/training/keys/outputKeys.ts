/** The keys of a run configuration that say what a run writes besides the store. */
import { z } from 'zod';

export const outputSchema = z
  .strictObject({
    save_model: z
      .boolean()
      .default(false)
      .describe(
        'Writes the trained weights into a folder when the run ends: a model in the Hugging Face layout, or the adapters where adapters were trained.',
      )
      .meta({ earlier: false }),
    save_path: z
      .string()
      .min(1)
      .max(500)
      .nullable()
      .default(null)
      .describe(
        'The folder of `save_model`, relative to this file. It must be new or empty. null: `output/` with the id of the run.',
      )
      .meta({ earlier: null }),
    verbose: z
      .boolean()
      .default(false)
      .describe('Prints messages and returns of the first question of each step while the run is in progress.')
      .meta({ earlier: false }),
  })
  .prefault({})
  .describe('What a run writes besides the store.')
  .meta({ since: '0.2.0' });
