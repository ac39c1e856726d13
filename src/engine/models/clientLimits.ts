/** What a client of a model elsewhere keeps to, by the settings of its role. */
import type { ClientSettings } from '../../policy/endpoint/client.ts';
import type { ServedSettings } from '../../shared/rolePolicies.ts';

type Limits = Pick<ClientSettings, 'concurrency' | 'perMinute' | 'retries' | 'timeLimit'>;

/** Requests at once, a minute and again, and milliseconds for each. */
export const clientLimits = (settings: ServedSettings): Limits => ({
  concurrency: settings.concurrency,
  perMinute: settings.requests_per_minute,
  retries: settings.retries,
  timeLimit: 1000 * settings.time_limit,
});
