import { testMiddleMessages } from './middleMessage.ts';

testMiddleMessages(['openaiAgents'], ['here']);
