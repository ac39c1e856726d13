/** Attacks with the files of a model: all of each kind. */

import { modelFilesAttacks } from '../../attack/modelFiles.ts';

modelFilesAttacks({ files: 10_000, adapters: 500 });
