/** Attacks with templates and tokenizers: a sample of each kind. */
import { modelTextsAttacks } from './modelTexts.ts';

modelTextsAttacks({ endless: 1, greedy: 3, templates: 200, tokenizers: 8 });
