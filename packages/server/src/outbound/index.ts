export type { Mailer } from './mail.ts';
export { isMailAddress } from './mail-address.ts';
export { composeMail, type Mail, type MailContent, mailTime } from './mail-page.ts';
export { type MailTexts, mailTexts } from './mail-texts.ts';
export { http } from './node-http.ts';
export {
  keptText,
  type Outbound,
  type OutboundCall,
  type OutboundResult,
  refusalOf,
} from './outbound.ts';
export { isOutboundUrl, outboundUrlMax } from './outbound-url.ts';
export { oneLine, withoutLinks } from './plain-line.ts';
export { newSecret, signatureHeaders, signedPost } from './standard-webhooks.ts';
