/** Language support for configurations: a separate bundle, loaded with the first configuration. */

export {
  getAnswerForm as answerFormOf,
  makeEvaluatorWithoutCode as evaluatorWithoutCode,
} from '../../evaluate/named.ts';
export {
  writeInferredTeam as inferredTeam,
  writeProgramTeam as programTeam,
  type ProgramTeam,
} from '../../logs/recordedEpisode.ts';
export { recountVote as countedVote } from '../../replay/countedVote.ts';
export { parseProtocol } from '../../team/parseProtocol.ts';
export { readStoredRounds as storedRounds, readStoredScoring as storedScoring } from '../../training/config/config.ts';
export { checkConfig, type ConfigFault } from '../../training/config/checkConfig.ts';
export { listDifferingKeys as differingKeys, toKeptKeys as keptKeys, setConfigKeys as withKeys } from './keptChange.ts';
export { messageOfFinding } from './messageOfFinding.ts';
export { listEntries as entriesBelow, findMissingPaths as missing } from './disk.ts';
export {
  findHover as hoverAt,
  listWrittenPaths as pathsIn,
  findSuggestions as suggestionsAt,
  type Suggestion,
  type Suggestions,
} from './help.ts';
export { OverlapCheck, type Overlap } from './overlap.ts';
export { recordedText } from './recordedText.ts';
export { promptFault, runTeam } from './runTeam.ts';
export { createTemplate as templateText } from './template.ts';
