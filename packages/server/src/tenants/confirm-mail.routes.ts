import { isUuid, type Locale } from '@indelible/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hashSecretToken } from '../crypto/secret-token.ts';
import { button, mailPage, mailTexts, paragraph } from '../outbound/mail-page.ts';
import { actOf, byService } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { readTenant, write } from '../postgres/db.ts';
import { confirmRecipient, findAsked } from './mail-recipients.store.ts';
import { linkMs } from './mail-recipients.ts';
import { getTenant } from './store.ts';

const path = '/confirm-mail/:tenant/:token';
const page = { config: { scope: 'public' }, schema: { hide: true } } as const;

/**
 * The page of a confirmation link. Its button confirms: programs that scan mail open every link,
 * but send no form.
 */
export function confirmMailRoutes(app: FastifyInstance, parts: Parts): void {
  const sinceMs = () => parts.now() - linkMs;
  app.register(async (pages) => {
    const form = 'application/x-www-form-urlencoded';
    // The form has no fields; whatever else a caller sends is not read.
    pages.addContentTypeParser(form, (_request, body, done) => {
      body.resume();
      done(null);
    });
    pages.get(path, page, async (request, reply) => {
      const link = linkOf(request);
      const locale = link && (await localeOf(parts, link, sinceMs()));
      return sendPage(reply, locale, 'ask');
    });
    pages.post(path, { ...page, bodyLimit: 1_024 }, async (request, reply) => {
      const link = linkOf(request);
      const locale = link && (await localeOf(parts, link, sinceMs()));
      const isConfirmed = link !== null && locale !== null && (await confirm(parts, link));
      return sendPage(reply, isConfirmed ? locale : null, 'done');
    });
  });
}

interface Link {
  tenantId: string;
  hash: Uint8Array;
}

function linkOf({ params }: FastifyRequest): Link | null {
  const { tenant, token } = params as { tenant: string; token: string };
  if (!isUuid(tenant)) return null;
  return { tenantId: tenant.toLowerCase(), hash: hashSecretToken(token) };
}

/** The tenant's language, if the link works. */
function localeOf({ db }: Parts, { tenantId, hash }: Link, sinceMs: number) {
  return readTenant(db, tenantId, async (tx): Promise<Locale | null> => {
    const [tenant, email] = [await getTenant(tx), await findAsked(tx, hash, sinceMs)];
    return tenant && !tenant.closedAtMs && email !== null ? tenant.locale : null;
  });
}

/** Confirms and records it in one transaction. A second call with the link finds none. */
function confirm({ db, now, recordOwn }: Parts, { tenantId, hash }: Link): Promise<boolean> {
  return write(db, async (tx) => {
    const nowMs = now();
    const email = await confirmRecipient(tx, tenantId, hash, nowMs - linkMs, nowMs);
    if (email === null) return false;
    const tenant = { type: 'tenant', id: tenantId, name: null };
    await recordOwn(tx, tenantId, actOf(byService, 'confirm', tenant, { after: { email } }));
    return true;
  });
}

/** Null: the link does not work, and no tenant's language is known. */
function sendPage(reply: FastifyReply, locale: Locale | null, state: 'ask' | 'done') {
  const texts = mailTexts[locale ?? 'en'].confirm;
  const form = `<form method="post"><button class="button" style="${button};border:0;font-size:16px">${texts.button}</button></form>`;
  const parts =
    locale === null
      ? [paragraph(texts.invalid)]
      : state === 'done'
        ? [paragraph(texts.done)]
        : [paragraph(texts.next), form];
  return reply
    .code(locale === null ? 404 : 200)
    .headers(headers)
    .type('text/html; charset=utf-8')
    .send(mailPage(locale ?? 'en', texts.subject, parts));
}

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
