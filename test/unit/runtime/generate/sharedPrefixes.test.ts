import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Generator } from '../../../../src/runtime/generate/generate.ts';
import { groupSeparately, groupBySharedPrefix } from '../../../../src/runtime/generate/sharedPrefixes.ts';
import { exactSlots } from '../../../../src/runtime/model/exactThreads.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { request, RUNNING, testParameters, testTokens, TINY } from '../models.ts';
import { range } from '../nd.ts';

/** Slices of attention's sums are 256 slots long at this head width. */
const LONG: TransformerConfig = { ...TINY, heads: 2, keyValueHeads: 1, headDim: 64, maxPositions: 1024 };
const context = (length: number): Int32Array => testTokens('shared', length);
const prompt = (shared: number, own: number, name: string): Int32Array =>
  Int32Array.from([...context(shared), ...testTokens(name, own)]);

describe('sharedPrefixes', () => {
  it('puts prompts that begin alike into one row, each prompt once', () => {
    const prompts = [prompt(40, 5, 'a'), testTokens('other', 30), prompt(40, 8, 'b'), prompt(40, 3, 'c')];
    const groups = groupBySharedPrefix(LONG, prompts);
    assert.deepEqual(groups.flatMap(({ members }) => members).sort(), [0, 1, 2, 3]);
    const shared = groups.find(({ members }) => members.length > 1);
    assert.deepEqual([...(shared?.members ?? [])].sort(), [0, 2, 3]);
    assert.ok((shared?.prefix ?? 0) >= 40);
    assert.equal(
      shared?.length,
      shared?.members.reduce((total, index) => total + (prompts[index]?.length ?? 0) - shared.prefix, shared.prefix),
    );
  });

  it('leaves every member a token of its own, also where one prompt begins another', () => {
    const [group] = groupBySharedPrefix(LONG, [context(40), context(44)]);
    assert.deepEqual(group, { members: [0, 1], prefix: 39, length: 39 + 1 + 5 });
  });

  it('does not share where less than half is in common, or where padding would cost more', () => {
    const little = [prompt(10, 15, 'a'), prompt(10, 15, 'b')];
    assert.deepEqual(
      groupBySharedPrefix(LONG, little).map(({ members }) => members.length),
      [1, 1],
    );
    const many = [
      prompt(40, 20, 'a'),
      prompt(40, 20, 'b'),
      ...range(20).map((index) => testTokens(`short ${index}`, 8)),
    ];
    // 21 rows of 80 slots against 22 of 60.
    assert.deepEqual(groupBySharedPrefix(LONG, many), groupSeparately(many));
  });

  it('never lets own tokens reach another slice of the sums than alone', () => {
    assert.equal(exactSlots(LONG), 256);
    for (const shared of [200, 230, 250, 256, 300]) {
      const prompts = range(8).map((index) => prompt(shared, 20, `member ${index}`));
      for (const { members, prefix, length } of groupBySharedPrefix(LONG, prompts)) {
        if (members.length > 1) {
          assert.equal(Math.floor(prefix / 256), Math.floor((length - 1) / 256), `${shared} tokens in common`);
        }
      }
    }
  });
});

describe('prompts that begin alike', () => {
  it('are answered with the same bits as alone, most of their tokens computed once', async () => {
    const flat = testParameters(LONG).map((value) => value / 2);
    const generator = await Generator.create(LONG, { threads: 2 });
    for (const shared of [60, 250, 256]) {
      const requests = range(8).flatMap((alternative) =>
        range(4).map((replay) => ({
          ...request(`${alternative} ${replay}`, 1, 8, { endToken: -1 }),
          prompt: prompt(shared, 12, `alternative ${alternative}`),
        })),
      );
      const together = await generator.generate(flat, requests, RUNNING);
      for (const index of [0, 5, 13, 31]) {
        const [alone] = await generator.generate(flat, requests.slice(index, index + 1), RUNNING);
        assert.deepEqual(together[index]?.tokens, alone?.tokens);
        assert.deepEqual(together[index]?.logprobs, alone?.logprobs);
      }
      const computed = together.reduce(
        (total, { promptTokens, reusedTokens }) => total + promptTokens - reusedTokens,
        0,
      );
      const distinct = shared + 8 * 12;
      if (shared === 250) {
        assert.ok(computed > distinct);
      } else {
        assert.equal(computed, distinct);
      }
    }
    await generator.release();
  });
});
