import type { TSchema } from 'typebox';
import { Type } from './type.ts';

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: Type.String(),
});

const signed = [
  header('webhook-id', 'Of the message, the same at every attempt.'),
  header('webhook-timestamp', 'Seconds since 1970, of this attempt.'),
  header(
    'webhook-signature',
    'One or two of `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, separated by a ' +
      'space. The key is the secret without `whsec_`, base64-decoded.',
  ),
];

interface ReceivedCall {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  message: TSchema;
  /** What each answer of the receiver means. */
  responses: Record<string, { description: string }>;
}

/**
 * A signed call that the service makes (Standard Webhooks), for the section `webhooks` of the
 * OpenAPI document.
 */
export const receivedCall = ({ message, ...call }: ReceivedCall) => ({
  post: {
    ...call,
    security: [],
    parameters: signed,
    requestBody: { required: true, content: { 'application/json': { schema: message } } },
  },
});
