/** `node test/attack/endOwners.ts ENDS [WORD]`: ends owners so often in each way, those whose name has the word. */

import assert from 'node:assert/strict';
import { ownedAttacks } from './ownedPrograms.ts';
import { OWNER_KINDS } from './owners.ts';

const [ends = '', word = ''] = process.argv.slice(2);
assert.match(ends, /^[1-9]\d{0,4}$/u, 'say how often');
ownedAttacks({ kinds: OWNER_KINDS.filter(({ name }) => name.includes(word)), ends: Number(ends), together: 1 });
