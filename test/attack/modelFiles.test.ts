/** Attacks with the files of a model: a sample of each kind. */

import { modelFilesAttacks } from './modelFiles.ts';

modelFilesAttacks({ files: 200, adapters: 20 });
