/** Attacks over the socket of an engine: a sample of each kind. */

import { rpcAttacks } from './rpc.ts';

rpcAttacks({ connections: 25, megabytes: 200, depth: 100_000, requests: 20 });
