/** Attacks over the socket of an engine: all of each kind. */

import { rpcAttacks } from '../../attack/rpc.ts';

rpcAttacks({ connections: 400, megabytes: 600, depth: 2_000_000, requests: 300 });
