/* Our own words only: they go into HTML as they are. `tenant` comes ready for its place. */

const en = {
  subject: 'A webhook of your audit log is paused',
  lead: (tenant: string) =>
    `A webhook of the audit log of ${tenant} did not get through, also when it was tried again, and is paused.`,
  gone: (tenant: string) =>
    `The receiver of a webhook of the audit log of ${tenant} wants no more messages (410). The webhook is paused.`,
  name: 'Webhook',
  receiver: 'Receiver',
  reason: 'Last failure',
  attempts: 'Attempts',
  at: 'Paused at',
  behind: 'Waiting',
  entries: (count: string) => `${count} entries of the log`,
  next:
    'The audit log itself is complete and unchanged, and nothing is skipped: as soon as the webhook is ' +
    'resumed on its page, it goes on where it stopped, as far as the retention of the plan reaches.',
  open: 'Open the webhook',
  footer: 'This message was sent automatically. Replies to it are not read.',
};

const es: typeof en = {
  subject: 'Un webhook del registro de auditoría está en pausa',
  lead: (tenant) =>
    `Un webhook del registro de auditoría de ${tenant} no pudo entregarse, tampoco al reintentarlo, y está en pausa.`,
  gone: (tenant) =>
    `El receptor de un webhook del registro de auditoría de ${tenant} no quiere más mensajes (410). El webhook está en pausa.`,
  name: 'Webhook',
  receiver: 'Receptor',
  reason: 'Último fallo',
  attempts: 'Intentos',
  at: 'En pausa desde',
  behind: 'En espera',
  entries: (count) => `${count} entradas del registro`,
  next:
    'El registro de auditoría está completo y sin cambios, y no se omite nada: en cuanto reanude el webhook en ' +
    'su página, continuará donde se detuvo, hasta donde alcance la retención del plan.',
  open: 'Abrir el webhook',
  footer: 'Este mensaje se envió automáticamente. Las respuestas no se leen.',
};

const ptBR: typeof en = {
  subject: 'Um webhook do log de auditoria está pausado',
  lead: (tenant) =>
    `Um webhook do log de auditoria de ${tenant} não pôde ser entregue, nem em novas tentativas, e está pausado.`,
  gone: (tenant) =>
    `O destinatário de um webhook do log de auditoria de ${tenant} não quer mais mensagens (410). O webhook está pausado.`,
  name: 'Webhook',
  receiver: 'Destinatário',
  reason: 'Última falha',
  attempts: 'Tentativas',
  at: 'Pausado em',
  behind: 'Na espera',
  entries: (count) => `${count} entradas do log`,
  next:
    'O log de auditoria está completo e inalterado, e nada é pulado: assim que o webhook for retomado na ' +
    'página dele, ele continua de onde parou, até onde alcança a retenção do plano.',
  open: 'Abrir o webhook',
  footer: 'Esta mensagem foi enviada automaticamente. As respostas não são lidas.',
};

export const failingMailTexts = { en, es, 'pt-BR': ptBR };
