/** Converts the settings of a role to the limits of its client. */

import type { ClientSettings } from '../../policy/endpoint/client.ts';
import type { ServedSettings } from '../../shared/rolePolicies.ts';

type Limits = Pick<ClientSettings, 'concurrency' | 'perMinute' | 'retries' | 'timeLimit' | 'prices'>;

/** Maximum parallel requests, requests a minute, retries, milliseconds for each request, and prices. */
export const toClientLimits = (settings: ServedSettings): Limits => ({
  concurrency: settings.concurrency,
  perMinute: settings.requests_per_minute,
  retries: settings.retries,
  timeLimit: 1000 * settings.time_limit,
  prices: settings.prices,
});
