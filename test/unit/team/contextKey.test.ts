import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashContext } from '../../../src/team/contextKey.ts';

describe('contextKey', () => {
  it('reproduces the published vectors', () => {
    const vectors: [string, string, string][] = [
      ['', '7252660547403494068', 'e3b0c44298fc1c14'],
      ['abc', '6393727014797677913', 'ba7816bf8f01cfea'],
      ['ab', '1032087313592488072', 'fb8e20fc2e4c3f24'],
      ['a\ud800b', '1032087313592488072', 'fb8e20fc2e4c3f24'],
      ['\udc00ab\udbff', '1032087313592488072', 'fb8e20fc2e4c3f24'],
      ['reasoner -> actor', '4787868202270501581', '04ebf5796123c567'],
      ['What is 2+2?', '1499113416552330545', '52cb6b5e4a038af1'],
      ['a\nb', '2841184169111951199', '7e18f737311b2dc3'],
      ['a\r\nb', '5595084126527992070', '18745f36a05e2907'],
      ['\u00e9', '5411848509986117935', '4a99557e4033c353'],
      ['e\u0301', '4199404984407003245', 'bf12767b0f2a56b2'],
      ['😀', '8498446342076163952', 'f0443a342c5ef547'],
      ['héllo 世界', '5440148406582510795', '41fdd4962650507e'],
    ];
    for (const [text, key, fingerprint] of vectors) {
      assert.deepEqual(hashContext(text), { key, fingerprint }, JSON.stringify(text));
    }
  });

  it('hashes the bytes as they are', () => {
    assert.notEqual(hashContext('abc ').key, hashContext('abc').key);
    assert.equal(hashContext('😀\ud83d').key, hashContext('😀').key);
  });
});
