/** Attacks by a page: a sample of each kind. */

import { pageAttacks } from './page.ts';

pageAttacks({ messages: 400 });
