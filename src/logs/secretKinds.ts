/**
 * Defines the kinds of keys that are known by their published form: those with rules in gitleaks,
 * and those of model servers. The first group of a match is kept, because it says what was masked.
 * All patterns take linear time. An unbounded repetition is of one set of characters, and if the
 * rest does not match, no other attempt starts within it.
 */

export interface SecretKind {
  /** The owner of the keys. */
  readonly name: string;
  readonly pattern: RegExp;
}

const of = (name: string, pattern: RegExp): SecretKind => ({ name, pattern });

/** Keys that are known by their first letters, which are case-sensitive. */
export const KINDS_BY_PREFIX: readonly SecretKind[] = [
  // Models.
  of('Anthropic', /\b(sk-ant-(?:api\d\d-|admin\d\d-|oat\d\d-)?)[\w-]{16,}/u),
  of('OpenRouter', /\b(sk-or-v1-)[0-9a-f]{32,}/u),
  of('OpenAI', /\b(sk-(?:proj-|svcacct-|admin-)?)[\w-]{16,}/u),
  of('Hugging Face', /\b(hf_)[A-Za-z0-9]{20,}/u),
  of('Hugging Face organization', /\b(api_org_)[A-Za-z0-9]{30,}/u),
  of('Google API', /\b(AIza)[\w-]{30,}/u),
  of('Groq', /\b(gsk_)[A-Za-z0-9]{40,}/u),
  of('xAI', /\b(xai-)[A-Za-z0-9]{60,}/u),
  of('Perplexity', /\b(pplx-)[A-Za-z0-9]{40,}/u),
  of('Fireworks', /\b(fw_)[A-Za-z0-9]{20,}/u),
  of('Replicate', /\b(r8_)[A-Za-z0-9]{37,}/u),
  of('NVIDIA', /\b(nvapi-)[\w-]{40,}/u),
  of('Cerebras', /\b(csk-)[a-z0-9]{40,}/u),
  of('LangSmith', /\b(lsv2_(?:pt|sk)_)[0-9a-f]{32}_[0-9a-f]{10}/u),
  of('Tavily', /\b(tvly-(?:dev-|prod-)?)[A-Za-z0-9]{28,}/u),
  of('Pinecone', /\b(pcsk_)\w{40,}/u),
  of('E2B', /\b(e2b_)[0-9a-f]{40}/u),
  // Clouds.
  of('AWS access key', /\b(AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b/u),
  of('Amazon Bedrock', /\b(ABSK)[A-Za-z0-9+/]{100,}={0,2}/u),
  of('Google OAuth secret', /\b(GOCSPX-)[\w-]{28}/u),
  of('Google OAuth token', /\b(ya29\.)[\w-]{20,}/u),
  of('Google refresh token', /\b(1\/\/0)[\w-]{40,}/u),
  of('Azure client secret', /(?<![\w~.-])([\w~.]{3}\dQ~)[\w~.-]{31,34}/u),
  of('Azure storage', /\b(AccountKey=)[A-Za-z0-9+/]{40,}={0,2}/u),
  of('Azure shared access key', /\b(SharedAccessKey=)[A-Za-z0-9+/]{40,}={0,2}/u),
  of('Azure shared access signature', /([?&;]sig=)[A-Za-z0-9%+/]{40,}/u),
  of('Alibaba Cloud', /\b(LTAI)[A-Za-z0-9]{17,21}\b/u),
  of('DigitalOcean', /\b(do[opr]_v1_)[0-9a-f]{64}/u),
  of('Cloudflare origin', /\b(v1\.0-)[0-9a-f]{24}-[0-9a-f]{100,}/u),
  of('Heroku', /\b(HRKU-AA)[\w-]{40,}/u),
  of('Databricks', /\b(dapi)[0-9a-f]{32}(?:-\d)?\b/u),
  of('Supabase', /\b(sbp_|sb_secret_)[\w-]{20,}/u),
  of('PlanetScale', /\b(pscale_(?:tkn|pw|oauth)_)[\w.=-]{32,}/u),
  // Code and packages.
  of('GitHub', /\b(gh[pousr]_)\w{20,}/u),
  of('GitHub fine-grained', /\b(github_pat_)\w{20,}/u),
  of('GitLab', /\b(gl(?:pat|dt|rt|ptt|oas|cbt|ft|imt|agent|soat|ffct)-)[\w-]{20,}/u),
  of('npm', /\b(npm_)[A-Za-z0-9]{36}/u),
  of('PyPI', /\b(pypi-)[\w-]{50,}/u),
  of('RubyGems', /\b(rubygems_)[0-9a-f]{48}/u),
  of('Docker', /\b(dckr_(?:pat|oat)_)[\w-]{27,}/u),
  of('Atlassian', /\b(ATATT3|ATCTT3|ATBB)[\w=+/-]{20,}/u),
  of('Postman', /\b(PMAK-)[0-9a-f]{24}-[0-9a-f]{34}/u),
  of('Linear', /\b(lin_api_)[A-Za-z0-9]{40}/u),
  of('Terraform', /\b([A-Za-z0-9]{14}\.atlasv1\.)[\w=-]{60,}/u),
  of('Vault', /\b(hv[sbr]\.)[\w-]{24,}/u),
  of('Doppler', /\b(dp\.(?:pt|st|ct|sa|scim|audit)\.)[A-Za-z0-9]{40,}/u),
  // Messages, payments and others.
  of('Slack', /\b(xox[abeoprs](?:\.xox[bp])?-)[\w-]{10,}/u),
  of('Slack app', /\b(xapp-\d-)[\w-]{20,}/u),
  of('Slack webhook', /\b(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w+/-]{40,}/u),
  of('Discord bot', /(?<![\w.-])([MNO])[\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}/u),
  of('Discord webhook', /\b(discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/)[\w-]{60,}/u),
  of('Telegram', /\b(\d{8,10}:AA)[\w-]{32,33}/u),
  of('Stripe', /\b((?:sk|rk)_(?:live|test|prod)_)[A-Za-z0-9]{10,}/u),
  of('Stripe webhook', /\b(whsec_)[A-Za-z0-9+/]{24,}={0,2}/u),
  of('Square', /\b(sq0(?:atp|csp)-)[\w-]{22,}/u),
  of('Shopify', /\b(shp(?:at|ca|pa|ss)_)[A-Fa-f0-9]{32}/u),
  of('SendGrid', /\b(SG\.)[\w-]{16,64}\.[\w-]{16,}/u),
  of('Twilio', /\b(SK)[0-9a-f]{32}\b/u),
  of('Mailgun', /\b(key-)[0-9a-f]{32}\b/u),
  of('Mailchimp', /\b()[0-9a-f]{32}-us\d{1,2}\b/u),
  of('Notion', /\b(ntn_|secret_)[A-Za-z0-9]{43,}/u),
  of('Airtable', /\b(pat[A-Za-z0-9]{14}\.)[0-9a-f]{64}/u),
  of('Figma', /\b(figd_)[\w-]{40}/u),
  of('Grafana', /\b(gl(?:c|sa)_)[\w+/=-]{30,}/u),
  of('New Relic', /\b(NRAK-)[A-Z0-9]{27}/u),
  of('Sentry', /\b(sntr[yu]s_)[\w+/=-]{40,}/u),
  of('age', /\b(AGE-SECRET-KEY-1)[A-Z0-9]{58}/u),
  of('JSON Web Token', /(?<![\w.-])(eyJ)[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?/u),
  // The key up to its end line, or, if that is cut off, as far as it looks like a key. In a JSON
  // string a line ends in a backslash and a letter, and a quote ends the text.
  of(
    'private key',
    /(-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)(?:(?:[^-"\\]|\\[^"]|-(?!----)){1,16384}-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?:\s|\\[nr]){0,8}[A-Za-z0-9+/=]{40,}(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=]{20,})*)/u,
  ),
];

/** Separators of a name and its value: `KEY=`, `key: `, `"key": "`, `\"key\": \"`, `key => '`. */
const GIVES = String.raw`["'\\]{0,4} {0,3}(?:[:=]|=>|:=) {0,3}["'\\]{0,4}`;

/** Keys that are known by the words before them, in any case. */
export const KINDS_BY_NAME: readonly SecretKind[] = [
  of('bearer token', /\b(Bearer\s{1,8})[\w.~+/-]{16,}=*/iu),
  of('basic authorization', new RegExp(String.raw`\b(authorization${GIVES}Basic\s{1,8})[A-Za-z0-9+/]{8,}={0,2}`, 'iu')),
  of('password in an address', /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/"'\\]{0,100}:)[^\s@/"'\\]{3,200}(?=@)/iu),
  of('AWS secret key', new RegExp(String.raw`(aws_?secret_?(?:access_?)?key${GIVES})[A-Za-z0-9+/]{40}`, 'iu')),
  of('AWS session token', new RegExp(String.raw`(aws_?session_?token${GIVES})[A-Za-z0-9+/=]{40,}`, 'iu')),
  of(
    'named key',
    new RegExp(
      String.raw`((?:api|access|secret|auth|private)[_-]?(?:key|token)${GIVES})(?=[\w.~+/=-]{0,60}\d)[\w.~+/=-]{16,}`,
      'iu',
    ),
  ),
  of(
    'named secret',
    new RegExp(
      String.raw`((?:client[_-]?secret|password|passwd)${GIVES})(?=[\w.~+/=!$%^&*-]{0,60}\d)[\w.~+/=!$%^&*-]{8,}`,
      'iu',
    ),
  ),
];
