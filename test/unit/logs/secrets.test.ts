import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KINDS_BY_NAME, KINDS_BY_PREFIX } from '../../../src/logs/secretKinds.ts';
import { maskText, maskValue } from '../../../src/logs/secrets.ts';
import { LogReader } from '../../../src/logs/source.ts';
import { sourceOf } from './wholeLog.ts';

/** So many signs of a kind. No key stands here as a whole: none is one, and scanners need not ask. */
const signs = (alphabet: string, count: number): string =>
  Array.from({ length: count }, (_, index) => alphabet[(index * 7 + 3) % alphabet.length]).join('');
const word = (count: number): string => signs('aB3dE6gH9jK2mN5pQ8sT1vW4yZ', count);
const hex = (count: number): string => signs('0123456789abcdef', count);
const small = (count: number): string => signs('a3c5e7g9i1k', count);
const large = (count: number): string => signs('A3C5E7G9I1K', count);
const digits = (count: number): string => signs('1234567890', count);

interface Case {
  /** What says the kind and is left. */
  readonly kept: string;
  readonly secret: string;
  /** What stands behind it and is left. */
  readonly rest?: string;
  /** What looks like it and is none. */
  readonly near: string;
}
const begun = (kept: string, secret: string, near = `${kept}${secret.slice(0, 7)}`): Case => ({ kept, secret, near });

const CASES: Readonly<Record<string, Case>> = {
  Anthropic: begun('sk-ant-api03-', word(40), 'sk-ant-hill'),
  OpenRouter: begun('sk-or-v1-', hex(64)),
  OpenAI: begun('sk-proj-', word(40), 'sk-proj-short and task-based-words-that-are-long'),
  'Hugging Face': begun('hf_', word(34), 'hf_transfer'),
  'Hugging Face organization': begun('api_org_', word(34), 'api_org_name'),
  'Google API': begun('AIza', word(35), 'AIzawa'),
  Groq: begun('gsk_', word(52), 'gsk_value'),
  xAI: begun('xai-', word(80), 'xai-org'),
  Perplexity: begun('pplx-', word(48), 'pplx-7b-online'),
  Fireworks: begun('fw_', word(24), 'fw_version'),
  Replicate: begun('r8_', word(37), 'r8_mask'),
  NVIDIA: begun('nvapi-', word(64), 'nvapi-client'),
  Cerebras: begun('csk-', small(48), 'csk-one'),
  LangSmith: begun('lsv2_pt_', `${hex(32)}_${hex(10)}`, `lsv2_pt_${hex(32)}`),
  Tavily: begun('tvly-', word(32), 'tvly-search'),
  Pinecone: begun('pcsk_', word(60), 'pcsk_index'),
  E2B: begun('e2b_', hex(40), 'e2b_template'),
  'AWS access key': begun('AKIA', large(16), `AKIA${large(12)} MAKIA${large(16)}`),
  'Amazon Bedrock': begun('ABSK', word(120), `ABSK${word(40)}`),
  'Google OAuth secret': begun('GOCSPX-', word(28)),
  'Google OAuth token': begun('ya29.', word(60)),
  'Google refresh token': begun('1//0', word(60), '1//0 is no division'),
  'Azure client secret': begun('a~B8Q~', word(34), `a~B8Q~${word(20)}`),
  'Azure storage': begun('AccountKey=', `${word(86)}==`, 'AccountKey=none'),
  'Azure shared access key': begun('SharedAccessKey=', `${word(43)}=`, 'SharedAccessKey=none'),
  'Azure shared access signature': begun('?sv=2024&sig=', word(43), '?sv=2024&sig=none'),
  'Alibaba Cloud': begun('LTAI', word(20)),
  DigitalOcean: begun('dop_v1_', hex(64)),
  'Cloudflare origin': begun('v1.0-', `${hex(24)}-${hex(146)}`, `v1.0-${hex(24)}`),
  Heroku: begun('HRKU-AA', word(58)),
  Databricks: begun('dapi', hex(32), 'dapi2 and dapifunction'),
  Supabase: begun('sbp_', hex(40)),
  PlanetScale: begun('pscale_tkn_', word(43)),
  GitHub: begun('ghp_', word(36), 'ghp_token'),
  'GitHub fine-grained': begun('github_pat_', word(82), 'github_pat_name'),
  GitLab: begun('glpat-', word(20), 'glpat-example'),
  npm: begun('npm_', word(36), 'npm_config_registry'),
  PyPI: begun('pypi-', word(90), 'pypi-server'),
  RubyGems: begun('rubygems_', hex(48)),
  Docker: begun('dckr_pat_', word(27)),
  Atlassian: begun('ATATT3', word(180)),
  Postman: begun('PMAK-', `${hex(24)}-${hex(34)}`, `PMAK-${hex(24)}`),
  Linear: begun('lin_api_', word(40)),
  Terraform: begun(`${word(14)}.atlasv1.`, word(67), `${word(14)}.atlasv1.none`),
  Vault: begun('hvs.', word(90), 'hvs.token'),
  Doppler: begun('dp.pt.', word(43)),
  Slack: begun('xoxb-', `${digits(12)}-${word(24)}`, 'xoxb-token'),
  'Slack app': begun('xapp-1-', `${large(11)}-${digits(13)}-${hex(64)}`),
  'Slack webhook': begun('hooks.slack.com/services/', `T${large(9)}/B${large(9)}/${word(24)}`),
  'Discord bot': begun('M', `${word(23)}.${word(6)}.${word(38)}`, `M${word(23)}.${word(6)}`),
  'Discord webhook': begun(`discord.com/api/webhooks/${digits(18)}/`, word(68)),
  Telegram: begun(`${digits(10)}:AA`, word(33), `${digits(10)}:AAA`),
  Stripe: begun('sk_live_', word(24), 'sk_live_mode'),
  'Stripe webhook': begun('whsec_', word(32)),
  Square: begun('sq0atp-', word(22)),
  Shopify: begun('shpat_', hex(32)),
  SendGrid: begun('SG.', `${word(22)}.${word(43)}`, `SG.${word(22)}`),
  Twilio: begun('SK', hex(32), `SK${hex(30)}`),
  Mailgun: begun('key-', hex(32), `key-${hex(31)}`),
  Mailchimp: begun('', `${hex(32)}-us12`, `${hex(32)}-use`),
  Notion: begun('ntn_', word(46), 'ntn_page'),
  Airtable: begun(`pat${word(14)}.`, hex(64), `pat${word(14)}.${hex(8)}`),
  Figma: begun('figd_', word(40)),
  Grafana: begun('glsa_', `${word(32)}_${hex(8)}`),
  'New Relic': begun('NRAK-', large(27)),
  Sentry: begun('sntrys_', word(120)),
  age: begun('AGE-SECRET-KEY-1', large(58)),
  'JSON Web Token': begun('eyJ', `${word(30)}.eyJ${word(60)}.${word(43)}`, `eyJ${word(30)}.${word(60)}`),
  'private key': begun(
    '-----BEGIN RSA PRIVATE KEY-----',
    `\n${word(64)}\n${word(40)}==\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN PUBLIC KEY-----\n${word(64)}\n-----END PUBLIC KEY----- and -----BEGIN PRIVATE KEY----- begins one`,
  ),
  'bearer token': begun('Authorization: Bearer ', word(24), 'Bearer of news'),
  'basic authorization': begun('authorization: Basic ', `${word(22)}==`, 'Basic authorization: Basic no'),
  'password in an address': {
    kept: 'postgres://user:',
    secret: 'hunter2',
    rest: '@db.example/app',
    near: 'http://127.0.0.1:8000/v1?to=a@b.example',
  },
  'AWS secret key': begun('aws_secret_access_key = ', word(40), 'aws_secret_access_key = none'),
  'AWS session token': begun('AWS_SESSION_TOKEN=', word(200), 'AWS_SESSION_TOKEN=none'),
  'named key': begun('"api_key": "', word(24), 'api_key = os.environ["THE_KEY"], access_token: string'),
  'named secret': begun('password=', 'correct-horse-7', 'password=none and client_secret: string'),
};

/** As texts in texts have it. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

describe('the kept list of secrets', () => {
  for (const { name } of [...KINDS_BY_PREFIX, ...KINDS_BY_NAME]) {
    it(`masks what is of ${name}, and nothing that only looks like it`, () => {
      const of = CASES[name];
      assert.ok(of !== undefined, `${name} has no example`);
      const { kept, secret, rest = '', near } = of;
      const around = (inside: string): string => `Take ${inside}${rest}" or "that`;
      assert.deepEqual(maskText(around(`${kept}${secret}`)), { text: around(`${kept}[masked]`), count: 1 });
      assert.deepEqual(maskText(near), { text: near, count: 0 });
      // The text of a text stays one that can be read.
      const { text, count } = maskText(JSON.stringify({ a: JSON.stringify([around(`${kept}${secret}`)]) }));
      assert.equal(count, 1);
      assert.ok(!text.includes(escaped(escaped(secret))));
      const inner: unknown = JSON.parse((JSON.parse(text) as { a: string }).a);
      assert.ok(Array.isArray(inner) && inner.length === 1);
    });
  }

  it('has an example of each kind', () => {
    assert.deepEqual(
      Object.keys(CASES),
      [...KINDS_BY_PREFIX, ...KINDS_BY_NAME].map(({ name }) => name),
    );
  });

  it('is read once, however often a stranger begins what is no key', () => {
    for (const { kept, secret, near } of Object.values(CASES)) {
      for (const part of [kept, `${kept}-`, near, `${secret.slice(0, 12)} `, `${kept}${secret.slice(0, -3)}.`]) {
        assert.ok(maskText(part.repeat(Math.ceil(50_000 / (part.length + 1)))).count <= 50_000);
      }
    }
    for (const part of ['a', '-', 'eyJ-', 'a:', 'a://a:a', '-----BEGIN PRIVATE KEY-----\n', 'sk.', '\\n', '.']) {
      assert.equal(maskText(part.repeat(50_000 / part.length)).count, 0);
    }
  });

  it('counts each, and leaves a key that is cut off for what it is', () => {
    const all = `{"a":"sk-proj-${word(20)} ghp_${word(36)} AKIA${large(16)}","h":"Authorization: Bearer ${word(16)}.qrst"}`;
    assert.deepEqual(maskText(all), {
      text: '{"a":"sk-proj-[masked] ghp_[masked] AKIA[masked]","h":"Authorization: Bearer [masked]"}',
      count: 4,
    });
    const cut = `-----BEGIN PRIVATE KEY-----\n${word(64)}\n${word(64)}`;
    assert.equal(maskText(`${cut} and then`).text, '-----BEGIN PRIVATE KEY-----[masked] and then');
  });

  it('finds them in values as they are meant, whatever their signs are written as, and in keys', () => {
    const key = `ghp_${word(36)}`;
    const written = key.replace('_', '\\u005f');
    const read = new LogReader(sourceOf(`{"a":["${written}"],"${written}":1}`), true).value({
      start: 0,
      end: 1000,
      line: 1,
    });
    assert.ok(!(read instanceof Error));
    assert.deepEqual([read.value, read.masked], [{ a: ['ghp_[masked]'], 'ghp_[masked]': 1 }, 2]);
    assert.deepEqual(maskValue([1, null, true, 'sk-short']), { value: [1, null, true, 'sk-short'], count: 0 });
  });
});
