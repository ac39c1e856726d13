/** Attacks with templates and tokenizers: all of each kind. */

import { modelTextsAttacks } from '../../attack/modelTexts.ts';

modelTextsAttacks({ cancelled: Infinity, endless: Infinity, greedy: Infinity, templates: 1_500, tokenizers: 60 });
