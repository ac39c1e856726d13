/** Attacks by a page: all of each kind. */

import { pageAttacks } from '../../attack/page.ts';

pageAttacks({ messages: 10_000 });
