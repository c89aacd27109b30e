import { send } from '@indelible/testing/http-receiver';
import type { MessageFormat, MessageTarget } from '../message-format.ts';
import { batchOf } from './event-texts.ts';

/** A format and its receiver: what is sent arrives over HTTP, and the answer is judged. */
export function exchangeOf(format: MessageFormat, receiver: () => MessageTarget) {
  const { judge, judgeHealth = judge } = format;
  const targetOf = (changes: object = {}): MessageTarget => ({ ...receiver(), ...changes });
  return {
    targetOf,
    async deliver(events: readonly string[], changes: object = {}, nowMs?: number) {
      const { status, text } = await send(
        format.deliver(targetOf(changes), batchOf(events, nowMs)),
      );
      return judge(status, text);
    },
    async health(changes: object = {}) {
      const { status, text } = await send(format.health(targetOf(changes), batchOf([]), 'whk_1'));
      return judgeHealth(status, text);
    },
  };
}
