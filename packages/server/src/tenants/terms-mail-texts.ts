import type { Plan } from '@indelible/protocol';

/* Our own words only: they go into HTML as they are. `tenant` comes ready for its place. */

const en = {
  subject: 'Your audit log is kept for less time',
  liftedSubject: 'The legal hold on your audit log was lifted',
  smaller: (tenant: string) =>
    `The plan of the audit log of ${tenant} was changed to a smaller one.`,
  lifted: (tenant: string) => `The legal hold on the audit log of ${tenant} was lifted.`,
  shows: {
    Starter: 'Events older than 30 days',
    Pro: 'Events older than 1 year',
    Enterprise: 'Events older than 7 years',
  } satisfies Record<Plan, string>,
  hidden: (events: string, until: string) =>
    `${events} are hidden from now on. They are removed for good after ${until}: until then nothing is lost, ` +
    'and undoing the change shows them again.',
  held: 'A legal hold stands: while it does, nothing is hidden or removed.',
  plan: 'Plan',
  hold: 'Legal hold',
  liftedWord: 'lifted',
  at: 'Changed at',
  by: 'Changed by',
  service: 'the product that records here',
  reason: 'Declared reason',
  next: 'If you did not expect this, ask the people who run the service, and export what you need in time.',
  open: 'Open the audit log',
  footer: 'This message was sent automatically. Replies to it are not read.',
};

const es: typeof en = {
  subject: 'Su registro de auditoría se conserva menos tiempo',
  liftedSubject: 'Se levantó la retención legal de su registro de auditoría',
  smaller: (tenant) => `El plan del registro de auditoría de ${tenant} se cambió por uno menor.`,
  lifted: (tenant) => `Se levantó la retención legal del registro de auditoría de ${tenant}.`,
  shows: {
    Starter: 'Los eventos de más de 30 días',
    Pro: 'Los eventos de más de 1 año',
    Enterprise: 'Los eventos de más de 7 años',
  },
  hidden: (events, until) =>
    `${events} están ocultos desde ahora. Se eliminan definitivamente después del ${until}: hasta entonces no se ` +
    'pierde nada, y al deshacer el cambio se muestran de nuevo.',
  held: 'Hay una retención legal vigente: mientras lo esté, no se oculta ni se elimina nada.',
  plan: 'Plan',
  hold: 'Retención legal',
  liftedWord: 'levantada',
  at: 'Fecha del cambio',
  by: 'Cambiado por',
  service: 'el producto que registra aquí',
  reason: 'Motivo declarado',
  next: 'Si no esperaba este cambio, pregunte a quienes administran el servicio y exporte a tiempo lo que necesite.',
  open: 'Abrir el registro de auditoría',
  footer: 'Este mensaje se envió automáticamente. Las respuestas no se leen.',
};

const ptBR: typeof en = {
  subject: 'Seu log de auditoria é guardado por menos tempo',
  liftedSubject: 'A retenção legal do seu log de auditoria foi suspensa',
  smaller: (tenant) => `O plano do log de auditoria de ${tenant} foi trocado por um menor.`,
  lifted: (tenant) => `A retenção legal do log de auditoria de ${tenant} foi suspensa.`,
  shows: {
    Starter: 'Os eventos com mais de 30 dias',
    Pro: 'Os eventos com mais de 1 ano',
    Enterprise: 'Os eventos com mais de 7 anos',
  },
  hidden: (events, until) =>
    `${events} ficam ocultos a partir de agora. Eles são removidos em definitivo depois de ${until}: até lá nada se ` +
    'perde, e desfazer a mudança volta a mostrá-los.',
  held: 'Há uma retenção legal em vigor: enquanto durar, nada é ocultado nem removido.',
  plan: 'Plano',
  hold: 'Retenção legal',
  liftedWord: 'suspensa',
  at: 'Data da mudança',
  by: 'Alterado por',
  service: 'o produto que registra aqui',
  reason: 'Motivo declarado',
  next: 'Se você não esperava esta mudança, pergunte a quem administra o serviço e exporte a tempo o que precisar.',
  open: 'Abrir o log de auditoria',
  footer: 'Esta mensagem foi enviada automaticamente. As respostas não são lidas.',
};

export const termsMailTexts = { en, es, 'pt-BR': ptBR };
