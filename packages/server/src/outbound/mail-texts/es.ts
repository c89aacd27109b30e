import type { MailTexts } from './en.ts';

export const es: MailTexts = {
  footer: 'Este mensaje se envió automáticamente. Por favor, no responda.',

  export: {
    ready: {
      subject: 'La exportación del registro de auditoría está lista',
      lead: (tenant) => `La exportación del registro de auditoría de ${tenant} está lista.`,
      next:
        'El enlace abre la página de la exportación. Inicie sesión allí y descargue el archivo. Si el ' +
        'SHA-256 del archivo es igual al de arriba, el archivo está completo y sin cambios.',
    },
    failed: {
      subject: 'La exportación del registro de auditoría ha fallado',
      lead: (tenant) => `La exportación del registro de auditoría de ${tenant} ha fallado.`,
      next:
        'El registro de auditoría está completo y sin cambios: solo falta el archivo. Inicie la exportación ' +
        'otra vez desde su página. Si vuelve a fallar, envíe el enlace de abajo a quienes administran el servicio.',
    },
    why: {
      storage:
        'El servicio no pudo escribir el archivo en su almacenamiento. Lo intentó varias veces.',
      interrupted: 'La exportación se interrumpió en todos los intentos.',
      unexpected: 'Un error inesperado detuvo la exportación en todos los intentos.',
    },
    filters: 'Filtros',
    allEvents: 'ninguno (todos los eventos)',
    format: 'Formato',
    rows: 'Filas',
    size: 'Tamaño',
    requested: 'Solicitada',
    expires: 'Disponible hasta',
    open: 'Abrir la exportación',
  },

  terms: {
    subject: 'Su registro de auditoría tiene una retención más corta',
    liftedSubject: 'Se levantó la retención legal de su registro de auditoría',
    emailsSubject: 'Ahora se avisa a otras personas sobre su registro de auditoría',
    emails: (tenant) =>
      `Cambiaron las direcciones que reciben avisos sobre el registro de auditoría de ${tenant}. Las anteriores los reciben 30 días más.`,
    smaller: (tenant) =>
      `El registro de auditoría de ${tenant} pasó a un plan con una retención más corta.`,
    lifted: (tenant) => `Se levantó la retención legal del registro de auditoría de ${tenant}.`,
    older: (keeps) =>
      'days' in keeps
        ? `Los eventos de más de ${keeps.days} ${keeps.days === 1 ? 'día' : 'días'}`
        : `Los eventos de más de ${keeps.years} ${keeps.years === 1 ? 'año' : 'años'}`,
    hidden: (events, until) =>
      `${events} están ocultos desde ahora. El servicio los elimina después del ${until}. Hasta entonces no ` +
      'se pierde nada: si se deshace el cambio, vuelven a ser visibles.',
    held: 'Hay una retención legal activa. Mientras esté activa, el servicio no oculta ni elimina eventos.',
    plan: 'Plan',
    hold: 'Retención legal',
    liftedWord: 'levantada',
    told: 'Reciben avisos',
    at: 'Fecha del cambio',
    by: 'Cambiado por',
    service: 'la aplicación que escribe en este registro',
    reason: 'Motivo declarado',
    next: 'Si no esperaba este cambio, pregunte a quienes administran el servicio. Exporte los eventos que todavía necesite.',
    open: 'Abrir el registro de auditoría',
  },

  webhookPaused: {
    subject: 'Un webhook del registro de auditoría está en pausa',
    lead: (tenant) =>
      `El servicio no pudo entregar un mensaje a un webhook del registro de auditoría de ${tenant}. Lo reintentó y después puso el webhook en pausa.`,
    gone: (tenant) =>
      `El receptor de un webhook del registro de auditoría de ${tenant} respondió 410: no acepta más mensajes. El servicio puso el webhook en pausa.`,
    name: 'Webhook',
    receiver: 'Receptor',
    reason: 'Último fallo',
    attempts: 'Intentos',
    at: 'En pausa desde',
    behind: 'Sin entregar',
    entries: (count) => `${count} entradas del registro`,
    next:
      'El registro de auditoría está completo y sin cambios. Cuando reanude el webhook en su página, el ' +
      'servicio continúa con el primer evento sin entregar. No envía los eventos que superan la retención del plan.',
    open: 'Abrir el webhook',
  },

  alert: {
    subject: 'Alerta de su registro de auditoría',
    lead: (tenant: string) =>
      `Se ha activado una regla de alerta del registro de auditoría de ${tenant}.`,
    rule: 'Regla',
    count: 'Alertas desde el último mensaje',
    at: 'Avisado el',
    next:
      'El enlace muestra las alertas y los eventos que las han activado. El servicio envía como máximo ' +
      'un mensaje por regla cada diez minutos. Para no recibir ninguno durante un tiempo, silencie la regla.',
    open: 'Abrir las alertas',
  },
};
