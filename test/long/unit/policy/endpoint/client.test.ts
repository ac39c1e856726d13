/** A thousand requests at once to servers that misbehave. */

import { manyRequests } from '../../../../unit/policy/endpoint/manyRequests.ts';

manyRequests(1000);
