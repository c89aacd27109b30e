/** Why an export came to nothing, as far as its reader can use it. */
export type ExportFailure = 'storage' | 'interrupted' | 'unexpected';

/* Our own words only: they go into HTML as they are. `tenant` comes ready for its place. */

const en = {
  ready: {
    subject: 'Your audit log export is ready',
    lead: (tenant: string) => `The export of the audit log of ${tenant} is ready.`,
  },
  failed: {
    subject: 'Your audit log export failed',
    lead: (tenant: string) => `The export of the audit log of ${tenant} failed.`,
  },
  why: {
    storage: 'The file could not be written to the storage, also when it was tried again.',
    interrupted: 'It was interrupted each time it was tried.',
    unexpected: 'An unexpected fault stopped it, also when it was tried again.',
  } satisfies Record<ExportFailure, string>,
  failedNext:
    'The audit log itself is complete and unchanged: only the file is missing. Start the export ' +
    'again from its page. If it fails again, tell the people who run the service, with the link below.',
  filters: 'Filters',
  allEvents: 'none (all events)',
  format: 'Format',
  rows: 'Rows',
  size: 'Size',
  requested: 'Requested',
  expires: 'Available until',
  open: 'Open the export',
  readyNext:
    'The link opens the page of the export, where you sign in and download the file. A file with the ' +
    'SHA-256 above is complete and unchanged.',
  footer: 'This message was sent automatically. Replies to it are not read.',
};

const es: typeof en = {
  ready: {
    subject: 'La exportación del registro de auditoría está lista',
    lead: (tenant) => `La exportación del registro de auditoría de ${tenant} está lista.`,
  },
  failed: {
    subject: 'La exportación del registro de auditoría ha fallado',
    lead: (tenant) => `La exportación del registro de auditoría de ${tenant} ha fallado.`,
  },
  why: {
    storage: 'No se pudo escribir el archivo en el almacenamiento, tampoco al reintentarlo.',
    interrupted: 'Se interrumpió en cada intento.',
    unexpected: 'Un fallo inesperado la detuvo, también al reintentarla.',
  },
  failedNext:
    'El registro de auditoría está completo y sin cambios: solo falta el archivo. Vuelva a iniciar la ' +
    'exportación desde su página. Si falla de nuevo, avise a quienes administran el servicio y envíeles ' +
    'el enlace de abajo.',
  filters: 'Filtros',
  allEvents: 'ninguno (todos los eventos)',
  format: 'Formato',
  rows: 'Filas',
  size: 'Tamaño',
  requested: 'Solicitada',
  expires: 'Disponible hasta',
  open: 'Abrir la exportación',
  readyNext:
    'El enlace abre la página de la exportación, donde puede iniciar sesión y descargar el archivo. Un ' +
    'archivo con el SHA-256 de arriba está completo y sin cambios.',
  footer: 'Este mensaje se envió automáticamente. Las respuestas no se leen.',
};

const ptBR: typeof en = {
  ready: {
    subject: 'A exportação do log de auditoria está pronta',
    lead: (tenant) => `A exportação do log de auditoria de ${tenant} está pronta.`,
  },
  failed: {
    subject: 'A exportação do log de auditoria falhou',
    lead: (tenant) => `A exportação do log de auditoria de ${tenant} falhou.`,
  },
  why: {
    storage: 'Não foi possível gravar o arquivo no armazenamento, nem em novas tentativas.',
    interrupted: 'Ela foi interrompida em todas as tentativas.',
    unexpected: 'Uma falha inesperada a interrompeu, também em novas tentativas.',
  },
  failedNext:
    'O log de auditoria está completo e inalterado: falta apenas o arquivo. Inicie a exportação ' +
    'novamente na página dela. Se falhar outra vez, avise quem administra o serviço e envie o link abaixo.',
  filters: 'Filtros',
  allEvents: 'nenhum (todos os eventos)',
  format: 'Formato',
  rows: 'Linhas',
  size: 'Tamanho',
  requested: 'Solicitada em',
  expires: 'Disponível até',
  open: 'Abrir a exportação',
  readyNext:
    'O link abre a página da exportação, onde você entra e baixa o arquivo. Um arquivo com o SHA-256 ' +
    'acima está completo e inalterado.',
  footer: 'Esta mensagem foi enviada automaticamente. As respostas não são lidas.',
};

export const exportMailTexts = { en, es, 'pt-BR': ptBR };
