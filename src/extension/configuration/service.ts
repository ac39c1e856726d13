/** Language support for configurations: a separate bundle, loaded with the first configuration. */
export { answerFormOf, evaluatorWithoutCode } from '../../evaluate/named.ts';
export { inferredTeam, programTeam, type ProgramTeam } from '../../logs/recordedEpisode.ts';
export { countedVote } from '../../replay/countedVote.ts';
export { parseProtocol } from '../../team/parseProtocol.ts';
export { storedRounds, storedScoring } from '../../training/config/config.ts';
export { checkConfig, type ConfigFault } from '../../training/config/checkConfig.ts';
export { differingKeys, keptKeys, withKeys } from './keptChange.ts';
export { messageOfFinding } from './messageOfFinding.ts';
export { entriesBelow, missing } from './disk.ts';
export { hoverAt, pathsIn, suggestionsAt, type Suggestion, type Suggestions } from './help.ts';
export { OverlapCheck, type Overlap } from './overlap.ts';
export { recordedText } from './recordedText.ts';
export { promptFault, runTeam } from './runTeam.ts';
export { templateText } from './template.ts';
