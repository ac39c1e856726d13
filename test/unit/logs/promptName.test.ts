import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { findPromptName } from '../../../src/logs/promptName.ts';

/** Prompts as programs of agents have them, and the name that each gives. */
const NAMED: readonly (readonly [prompt: string, name: string])[] = [
  ['You are the lister.', 'lister'],
  ['You are the lister', 'lister'],
  ['You are the planner of a team of three. Write a plan.', 'planner'],
  ['You are the planner, and the others follow your plan.', 'planner'],
  ['You are Planner. Split the task into steps.', 'Planner'],
  ['You are Alice, a careful bookkeeper.', 'Alice'],
  ['You are **Critic**. Find errors.', 'Critic'],
  ['You are "Reviewer". Read the code.', 'Reviewer'],
  ['You are the planner agent. You never answer yourself.', 'planner'],
  ['You are a planner.', 'planner'],
  ['You are an expert Python programmer who writes short functions.', 'Python programmer'],
  ['You are a senior data analyst with ten years of experience.', 'senior data analyst'],
  ['You are a helpful research assistant. Search first.', 'research assistant'],
  ["You're the verifier: check each line.", 'verifier'],
  ['You’re the fact-checker.', 'fact-checker'],
  ['You will be the referee of a debate.', 'referee'],
  ['You are now the negotiator for the buyer.', 'negotiator'],
  ['Your name is Ada. You are a helpful assistant.', 'Ada'],
  ['You are a helpful assistant. Your name is Rex.', 'Rex'],
  ['You are an assistant named Max.', 'Max'],
  ['You are a travel agent called Globe Trotter.', 'Globe Trotter'],
  ['You are called Orchestrator.', 'Orchestrator'],
  ['Name: Scout\nGoal: find sources', 'Scout'],
  ['Agent name: web_surfer\nTools: browser', 'web_surfer'],
  ['Role: Planner\nTask: plan', 'Planner'],
  ['# Role: Historian\nAnswer with dates.', 'Historian'],
  ['**Role**: Tester', 'Tester'],
  ['- Role: solver\n- Rules: be short', 'solver'],
  ['## Role\nEditor in Chief\n\n## Rules\nBe brief.', 'Editor'],
  ['Your role is planner.', 'planner'],
  ['Your role is that of a mediator between the two sides.', 'mediator'],
  ['Your role in this team is the critic.', 'critic'],
  ['Your job is to act as the router.', 'router'],
  ['As the planner, decompose the task into steps.', 'planner'],
  ['Read the question. As the judge, you decide who is right.', 'judge'],
  ['Act as a translator from French.', 'translator'],
  ['I want you to act as the interviewer.', 'interviewer'],
  ['You act as the dispatcher; send each request on.', 'dispatcher'],
  ['You play the role of the customer.', 'customer'],
  ['Assume the role of Socrates.', 'Socrates'],
  ['You have been assigned the role of treasurer.', 'treasurer'],
  ['In this game, you are the witch.', 'witch'],
  ['Imagine you are the mayor of a small town.', 'mayor'],
  ['<role>summarizer</role>\n<rules>Short.</rules>', 'summarizer'],
  ['<system><name>Atlas</name><goal>Map it.</goal></system>', 'Atlas'],
  ['<agent name="coder">\nWrite code.\n</agent>', 'coder'],
  ['<persona>\nYou are the archivist.\n</persona>', 'archivist'],
  ['{"role": "scheduler", "goal": "plan the week"}', 'scheduler'],
  ['You are agent B. You talk to agent A.', 'agent B'],
  ['You are supervisor_1, above two workers.', 'supervisor_1'],
  [
    'Welcome! You are Senior Data Researcher. You’re a seasoned researcher with a knack for sources.',
    'Senior Data Researcher',
  ],
  ['You are Dr. Watson. Take notes.', 'Dr. Watson'],
  ['You are the math expert. Solve equations.', 'math expert'],
  ['You are a careful, thorough and patient editor.', 'editor'],
  ['You are the planner.\n# Tools\nName: search\n<tool><name>calculator</name></tool>', 'planner'],
];

const UNNAMED: readonly string[] = [
  '',
  'You are a helpful assistant.',
  'You are a helpful, harmless and honest assistant.',
  'You are an AI assistant.',
  'You are an AI language model.',
  'You are ChatGPT, a large language model trained by OpenAI.',
  'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.',
  'You are Claude, made by Anthropic.',
  'You are an expert.',
  'You are an agent that solves tasks with tools.',
  'You are one of three agents.',
  'You are part of a team.',
  'You are a member of the team.',
  'You are given a question and three answers.',
  'You are asked to list the steps.',
  'You are in charge of everything.',
  'You are the best at what you do.',
  'You are the first to speak.',
  'You are the last one in a chain.',
  'You are not allowed to answer.',
  'You are ready.',
  'You are clever.',
  'You are to answer in one line.',
  'You are responsible for the plan.',
  'You are talking to the planner.',
  'You are working with the critic and the planner.',
  'Be concise.',
  'Plan the task.',
  'The planner gives you a plan. Follow it.',
  'If you are the planner, write a plan; if you are the critic, judge it.',
  'When you are the last speaker, say so.',
  'Ask the critic: "You are the judge, are you not?"',
  'As the conversation goes on, be brief.',
  'As the user asked, answer in French.',
  'As an AI, you have no opinions.',
  'Your role is to answer questions.',
  'Your name is not important.',
  'Role: assistant',
  'Send your result to the planner, as the lister would.',
  'You are the planner. You are the critic.',
  'Your name is Ada. Your name is Bob.',
  '<role>planner</role> <role>critic</role>',
  'You are GPT-4.',
  '# Tools\nName: search\nName: calculator',
];

/** What a stranger may write, and what is made of it. */
const HOSTILE: readonly (readonly [prompt: string, name: string | null])[] = [
  [`You are the ${'very '.repeat(2000)}long one.`, null],
  [`You are the ${'x'.repeat(5000)}.`, null],
  [`You are the ${'planner of '.repeat(50)}.`, 'planner'],
  ['You are the {question}_output.', null],
  ['<name><script>alert(1)</script></name>', null],
  ['You are the \u202Erelist\u0000er.', null],
  [`${' '.repeat(5000)}You are the lister.`, null],
  ['You are the '.repeat(20_000), null],
  ['# role\n'.repeat(20_000), null],
  ['<name '.repeat(20_000), null],
  ["' ".repeat(50_000), null],
  ['your a name is '.repeat(20_000), null],
];

describe('the name that a prompt gives', () => {
  for (const [prompt, name] of NAMED) {
    it(`${JSON.stringify(prompt.slice(0, 50))} is of ${name}`, () => assert.equal(findPromptName(prompt), name));
  }
  it('is none where a stranger writes what is long or no word, however long that is', () => {
    for (const [prompt, name] of HOSTILE) {
      assert.equal(findPromptName(prompt), name, prompt.slice(0, 40));
    }
  });
  for (const prompt of UNNAMED) {
    it(`${JSON.stringify(prompt.slice(0, 60))} is of nobody`, () => assert.equal(findPromptName(prompt), null));
  }
});
