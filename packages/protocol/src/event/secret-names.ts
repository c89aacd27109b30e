import { folded } from '../filter/folded.ts';

/** Which values a name hides; `null` is never hidden. A greater number hides more. */
export const hides = {
  nothing: 0,
  /** Texts and lists with a text: `tokens: ["x"]`, not `tokens: 4096`. */
  texts: 1,
  /** All but booleans: `otp: true` is a setting. */
  values: 2,
  everything: 3,
} as const;

export type Hides = (typeof hides)[keyof typeof hides];

// All words below are folded: in lower case and without accents. A dash is a separator or none.

/** Secret anywhere in a name, also within a word: `userpasswordhash`. */
const stems =
  'pass-word pass-wd pass-phrase pass-code passwort passwoerter passworter kennwort kennworter ' +
  'contrasena palavra-passe mot-de-passe mots-de-passe';

/** Secret where a word of the name ends with them, singular or plural: `clientsecret`. */
const endings =
  'secret secret-key secret-value token-value access-token refresh-token api-key access-key ' +
  'private-key shared-key encryption-key signing-key ssh-key account-key master-key ' +
  'private-key-pem credential cookie connection-string recovery-code backup-code ' +
  'security-answer security-code card-number seed-phrase authorization-code ' +
  'clave-secreta clave-privada clave-de-acceso clave-acceso clave-api respuesta-de-seguridad ' +
  'respuesta-secreta codigo-de-seguridad numero-de-tarjeta numero-tarjeta ' +
  'chave-secreta chave-privada chave-de-acesso chave-de-api chave-api resposta-de-seguranca ' +
  'resposta-secreta codigo-de-seguranca numero-do-cartao numero-cartao ' +
  'credencial credenciales credenciais ' +
  'zugangs-daten anmelde-daten geheimnis geheimnisse geheimzahl sicherheits-code ' +
  'sicherheits-antwort api-schlussel api-schluessel zugriffs-schlussel zugriffs-schluessel ' +
  'privater-schlussel privater-schluessel geheimer-schlussel geheimer-schluessel karten-nummer ' +
  'cle-secrete cle-privee cle-api reponse-secrete reponse-de-securite code-secret ' +
  'code-de-securite jeton-dacces numero-de-carte numero-carte';

/** Secret as whole words of a name only, as `pin` is: `headspin` is none. */
const words = 'otp cvc cvv jwt pwd psk puk mdp senha segredo secreto jeton';

/** Secret only at the end of a name: `authorizationStatus` is none. */
const lastWords = 'authorization bearer mnemonic';

/** A name with one of these before or after a secret word speaks of its rules: `requirePin`. */
const rules =
  /politi(?:cas?|ques?)|directiva|requir|requer|requier|requis(?!i)|obligat|obrigat|exig|erforderlich/;

/** Behind a secret word only: `passwordPolicyText`, but an insurance has a `policyToken`. */
const policies = /polic(?:y|ies)|richtlinie/;

/** A name that ends with one of these speaks about a secret: `passwordChangedAt`, `tokenId`. */
const aspects = wordPattern(
  'age algorithm alg arn at attempts audience banner by change changed color config consent cost ' +
    'count counts created date description disabled domain duration enabled endpoint expiration ' +
    'expired expires expiry field fingerprint format four group hidden icon id ids index issuer ' +
    'label last length lifetime limit limits manager max method min minimum maximum mode name ' +
    'names on options order owner path permissions position preferences prefix provider public ' +
    'question quota ref region required role rotated rotation rule rules scope scopes score ' +
    'settings size source state status store strength symbol time title ttl type types updated ' +
    'usage used user uuid version visibility visible file engine budget ' +
    'longitud longueur lange laenge comprimento fecha datum nombre tipo estado regel regeln',
  '(?:^|-)',
  '[-\\d]*$',
);

/** A name with one of these before a secret word is a switch or a number: `hasPassword`. */
const switches = wordPattern(
  'allow allows can disable disabled enable enabled force forces has have hide hides is max ' +
    'maximum min minimum must need needs num should show shows support supports total uses ' +
    'without count',
  '(?:^|-)',
  '(?:-|$)',
);

/** Pins of a map, and of hardware. */
const otherPins = '(?<!(?:^|[^\\p{L}])(?:map|location|place|drop|gpio|board)[-.]?)';

/** Positions in a list, and marks of one request. */
const otherTokens =
  '(?<!(?:next|page|pagination|continuation|sync|cancellation|idempotency|client[-.]?request)[-.]?)';

const stemPattern = `(?:${alternatives(stems)})(?![-.]?less)`;
const endingPattern = `(?:(?:${alternatives(endings)})s?|${otherTokens}token)(?!\\p{L})`;
const wordsPattern = `(?<!\\p{L})(?:${otherPins}pin|${words.replaceAll(' ', '|')})s?(?!\\p{L})`;
const lastPattern = `(?:${alternatives(lastWords)})s?[-\\d]*$`;
const textPattern = /(?:(?<!\p{L})(?:pass|tokens)|^auth)[-\d]*$/u;

/**
 * A function that tells what a name hides. A name may be a path, with dots between its segments:
 * it hides what its strictest segment, or two segments beside each other (`api.key`), would hide.
 * Words are separated by camelCase and by anything but letters and digits, and compared without
 * case and accents. `ownNames` are added: they match as `endings` do, and at the end of a name
 * they hide booleans too.
 * Takes linear time, and of a name of more than 2,000 characters reads the first and last 1,000:
 * folding one of 200 KB would stop the event loop. The decisions are remembered.
 */
export function secretNames(ownNames: readonly string[]): (name: string) => Hides {
  const own = ownNames.map((name) => wordsOf(name).replace(/[-.]/g, '')).filter((name) => name);
  const spelt = alternatives(own.map((name) => [...name].join('-')).join(' '));
  const ownPattern = own.length === 0 ? '(?!)' : `(?:${spelt})s?(?!\\p{L})`;
  const builtIn = `${stemPattern}|${endingPattern}|${wordsPattern}|${lastPattern}`;
  const patterns = {
    own: new RegExp(ownPattern, 'gu'),
    builtIn: new RegExp(builtIn, 'gu'),
    // Most names hold nothing of all this.
    any: new RegExp(`${ownPattern}|${builtIn.replaceAll('$', '(?=\\.|$)')}`, 'u'),
  };
  return remember((whole) => {
    const name = whole.length > 2_000 ? `${whole.slice(0, 1_000)}.${whole.slice(-1_000)}` : whole;
    const most = hiddenBy(wordsOf(name), patterns);
    // `APIKey` is split before its K, `PASSWORDold` would be split before its D.
    const other = capitals.test(name) ? hiddenBy(wordsOf(name, humps), patterns) : most;
    return other > most ? other : most;
  });
}

type Patterns = Record<'own' | 'builtIn' | 'any', RegExp>;

function hiddenBy(path: string, patterns: Patterns): Hides {
  const segments = path.split('.');
  const last = segments.findLast((segment) => !/^\d+$/.test(segment)) ?? '';
  const isList = textPattern.test(last) && !isAbout(last, '');
  let most: Hides = isList ? hides.texts : hides.nothing;
  if (!patterns.any.test(path)) return most;
  const raise = (name: string) => {
    const found = hiddenByName(name, patterns);
    if (found > most) most = found;
  };
  segments.forEach((segment, index) => {
    raise(segment);
    if (index > 0) raise(`${segments[index - 1]}-${segment}`);
  });
  return most;
}

function hiddenByName(name: string, { own, builtIn }: Patterns): Hides {
  const around = aroundMatches(name, own);
  if (around && !isAbout(...around)) {
    return /^[-\d]*$/.test(around[1]) ? hides.everything : hides.values;
  }
  const rest = aroundMatches(name, builtIn);
  return rest && !isAbout(...rest) ? hides.values : hides.nothing;
}

/** What stands before the first match and after the last one; undefined: there is none. */
function aroundMatches(name: string, pattern: RegExp): [string, string] | undefined {
  let [start, end] = [-1, 0];
  // `matchAll` copies the pattern, which takes longer than the search.
  pattern.lastIndex = 0;
  for (let match = pattern.exec(name); match; match = pattern.exec(name)) {
    if (start < 0) start = match.index;
    end = pattern.lastIndex;
  }
  return start < 0 ? undefined : [name.slice(0, start), name.slice(end)];
}

/** Whether what stands around the secret words of a name says that no secret is its value. */
function isAbout(before: string, after: string): boolean {
  if (rules.test(before) || switches.test(before)) return true;
  return rules.test(after) || policies.test(after) || aspects.test(after);
}

const capitals = /\p{Lu}{2}\p{Ll}/u;
const humps = /(?<=[\p{Ll}\p{N}\p{M}])(?=\p{Lu})/gu;
const humpsAndCapitals = new RegExp(`${humps.source}|(?<=\\p{Lu})(?=\\p{Lu}\\p{Ll})`, 'gu');

/** The folded words of a name with `-` between them; dots stay. */
function wordsOf(name: string, between = humpsAndCapitals): string {
  const split = name.replaceAll('\u200b', '').replace(between, '-');
  return folded(split).replace(/[^\p{L}\p{N}.]+/gu, '-');
}

/** The pattern of names, with or without a separator for each dash. */
function alternatives(names: string): string {
  return names.replaceAll('-', '[-.]?').replaceAll(' ', '|');
}

function wordPattern(names: string, before: string, after: string): RegExp {
  return new RegExp(`${before}(?:${names.replaceAll(' ', '|')})${after}`);
}

const rememberedMax = 4096;
const rememberedCharactersMax = 128;

/** Caches the decision for each name; limited, because producers choose the names. */
function remember(decide: (name: string) => Hides): (name: string) => Hides {
  const decisions = new Map<string, Hides>();
  return (name) => {
    const known = decisions.get(name);
    if (known !== undefined) return known;
    const decision = decide(name);
    if (name.length > rememberedCharactersMax) return decision;
    if (decisions.size >= rememberedMax) decisions.clear();
    decisions.set(name, decision);
    return decision;
  };
}
