import { hides } from './secret-names.ts';

/** Published prefixes of keys that letters and digits follow, 16 at least. */
const keyPrefixes =
  'AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ sk_live_ sk_test_ rk_live_ rk_test_ whsec_ npm_ ' +
  'hf_ gsk_ r8_ rubygems_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ lin_api_ ntn_ ' +
  'sbp_ sb_secret_ nfp_ tfp_ rdme_ bkua_ sntrys_ sntryu_ ATBB xkeysib- dt0c01. dp.pt. dp.st. ' +
  'CFPAT- NRAK- PMAK- pul- glc_ glsa_ idl_ dapi LTAI pplx- xai-';

/** Prefixes that letters, digits, `_`, `-` and `.` follow, with a digit among them. */
const looseKeyPrefixes =
  'glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- gloas- glagent- xoxa- xoxb- xoxc- xoxd- ' +
  'xoxe- xoxp- xoxr- xoxs- xapp- sk- AIza GOCSPX- ya29. pypi- dckr_pat_ dckr_oat_ hvs. hvb. hvr. ' +
  'pscale_tkn_ pscale_pw_ figd_ ATATT3 sq0atp- sq0csp- tskey- HRKU- AGE-SECRET-KEY-1';

const oneOf = (prefixes: string) => prefixes.replaceAll('.', '\\.').replaceAll(' ', '|');

// Each repetition is bounded or can begin at one place only, so that a long text takes linear time.
const secretTexts = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY/,
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\./,
  new RegExp(`(?<![\\w-])(?:${oneOf(keyPrefixes)})[A-Za-z0-9+/]{16}`),
  new RegExp(`(?<![\\w-])(?:${oneOf(looseKeyPrefixes)})(?=[\\w.-]{0,40}\\d)[\\w.-]{16}`),
  // SendGrid, Twilio, Mailgun, Mailchimp, Telegram.
  /(?<!\w)SG\.[\w-]{16,32}\.[\w-]{16}|(?<!\w)SK[\da-f]{32}|(?<![\w-])key-[\da-f]{32}/,
  /(?<!\w)[\da-f]{32}-us\d|(?<!\w)\d{8,10}:AA[\w-]{30}/,
  // A user with a password in a URL or a SIP address.
  /:\/\/[^\s/?#@:"']{0,256}:(?!\*+@|\$\{|\{\{|<|\[)[^\s/@"']{1,256}@/,
  /\bsips?:[^\s/?#@:"']{1,64}:[^\s/@"':;]{1,64}@/,
  // Incoming webhooks, whose address is all that a sender needs.
  /hooks\.slack\.com\/(?:services|workflows|triggers)\/\w/,
  /discord(?:app)?\.com\/api\/webhooks\/\d+\/\w|webhook\.office\.com\/webhookb2\/\w/,
  // Signed addresses.
  /[?&](?:X-(?:Amz|Goog)-Signature|sig|signature)=[\w%+/=-]{16}/i,
  // Headers.
  /authorization["'\\]{0,4} {0,4}[:=] {0,4}["'\\]{0,4}(?:bearer|basic|digest|token|negotiate) {1,4}\w/i,
  /^(?:bearer +(?=\S*\d)\S{8,}|basic +(?=\S*[\d=])[\w+/]{12,}={0,2})$/i,
];

/** What stands for a value that another program has hidden or puts in later, or for none. */
const placeholder =
  '(?:null|true|false|undefined|\\*+|\\[\\w{1,20}\\]|<\\w{1,20}>|\\$\\{\\w{1,64}\\}|\\{\\{[^}]{1,64}\\}\\}' +
  '|\\?|%s|:\\w{1,20}|\\$\\d{1,3})';
const noValue =
  `(?!\\\\{0,8}["']?${placeholder}(?:["'\\\\\\s&;,}\\])]|$))` +
  `(?!\\\\{0,8}["']\\\\{0,8}["'])(?![\\s&;,}\\])]|$)`;

/** Names with a value within a text; the name is the first group. */
const pairs = [
  // JSON: `"name":"value"`, also within another text of JSON, where quotes are escaped.
  new RegExp(`["']([^"'\\\\\\n]{1,64})\\\\{0,8}["']\\s{0,8}:\\s{0,8}${noValue}`, 'g'),
  /["'](?:name|key|header)\\{0,8}["']\s{0,8}:\s{0,8}\\{0,8}["']([^"'\\\n]{1,64})\\{0,8}["']\s{0,8},\s{0,8}\\{0,8}["']value\b/gi,
  // Parameters of a URL, connection strings, settings of an environment.
  new RegExp(`(?<![\\w.[\\]%-])([\\w.[\\]%-]{1,64}) ?= ?(?!=)${noValue}`, 'g'),
  // A header, or a line of YAML: one word behind the colon, any after `Cookie:`.
  new RegExp(`^[ \\t-]{0,40}([\\w-]{1,64}):[ \\t]{1,8}${noValue}\\S+\\s?$`, 'gm'),
  /^[ \t]{0,8}((?:set-)?cookie):[ \t]{0,8}[\w.-]{1,64}=/gim,
];

/** Whether a text is or holds a secret: by its form, or beside a name that hides it. */
export function isSecretText(text: string, hiddenBy: (name: string) => number): boolean {
  if (text.length < 8) return false;
  if (secretTexts.some((pattern) => pattern.test(text))) return true;
  if (!/[:=]/.test(text)) return false;
  return pairs.some((pattern) => {
    // `matchAll` copies the pattern, which takes longer than the search.
    pattern.lastIndex = 0;
    for (let pair = pattern.exec(text); pair; pair = pattern.exec(text)) {
      if (hiddenBy(pair[1] ?? '') > hides.nothing) return true;
    }
    return false;
  });
}
