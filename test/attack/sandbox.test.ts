/** Attacks by a program in a sandbox: a sample of each kind. */
import { sandboxAttacks } from './sandbox.ts';

sandboxAttacks({ answers: 8, deedsApart: 24, drawnLooks: 1, looks: 1, pairs: 5 });
