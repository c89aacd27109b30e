import type { MailTexts } from './en.ts';

export const ptBR: MailTexts = {
  footer: 'Esta mensagem foi enviada automaticamente. Por favor, não responda.',

  export: {
    ready: {
      subject: 'A exportação do registro de auditoria está pronta',
      lead: (tenant) => `A exportação do registro de auditoria de ${tenant} está pronta.`,
      next:
        'O link abre a página da exportação. Entre nela e baixe o arquivo. Se o SHA-256 do arquivo for ' +
        'igual ao de cima, o arquivo está completo e inalterado.',
    },
    failed: {
      subject: 'A exportação do registro de auditoria falhou',
      lead: (tenant) => `A exportação do registro de auditoria de ${tenant} falhou.`,
      next:
        'O registro de auditoria está completo e inalterado: falta apenas o arquivo. Inicie a exportação ' +
        'de novo na página dela. Se falhar outra vez, envie o link abaixo a quem administra o serviço.',
    },
    why: {
      storage:
        'O serviço não conseguiu gravar o arquivo no armazenamento. Ele tentou várias vezes.',
      interrupted: 'A exportação foi interrompida em todas as tentativas.',
      unexpected: 'Um erro inesperado parou a exportação em todas as tentativas.',
    },
    filters: 'Filtros',
    allEvents: 'nenhum (todos os eventos)',
    format: 'Formato',
    rows: 'Linhas',
    size: 'Tamanho',
    requested: 'Solicitada em',
    expires: 'Disponível até',
    open: 'Abrir a exportação',
  },

  terms: {
    subject: 'Seu registro de auditoria tem uma retenção mais curta',
    liftedSubject: 'A retenção legal do seu registro de auditoria foi suspensa',
    emailsSubject: 'Outras pessoas agora recebem avisos sobre o seu registro de auditoria',
    emails: (tenant) =>
      `Os endereços que recebem avisos sobre o registro de auditoria de ${tenant} mudaram. Os anteriores os recebem por mais 30 dias.`,
    smaller: (tenant) =>
      `O registro de auditoria de ${tenant} passou para um plano com retenção mais curta.`,
    lifted: (tenant) => `A retenção legal do registro de auditoria de ${tenant} foi suspensa.`,
    older: (keeps) =>
      'days' in keeps
        ? `Os eventos com mais de ${keeps.days} ${keeps.days === 1 ? 'dia' : 'dias'}`
        : `Os eventos com mais de ${keeps.years} ${keeps.years === 1 ? 'ano' : 'anos'}`,
    hidden: (events, until) =>
      `${events} ficam ocultos a partir de agora. O serviço os exclui depois de ${until}. Até lá nada se ` +
      'perde: se a mudança for desfeita, eles voltam a ser visíveis.',
    held: 'Há uma retenção legal ativa. Enquanto ela estiver ativa, o serviço não oculta nem exclui eventos.',
    plan: 'Plano',
    hold: 'Retenção legal',
    liftedWord: 'suspensa',
    told: 'Recebem avisos',
    at: 'Data da mudança',
    by: 'Alterado por',
    service: 'o aplicativo que escreve neste registro',
    reason: 'Motivo declarado',
    next: 'Se você não esperava esta mudança, pergunte a quem administra o serviço. Exporte os eventos de que ainda precisa.',
    open: 'Abrir o registro de auditoria',
  },

  webhookPaused: {
    subject: 'Um webhook do registro de auditoria está pausado',
    lead: (tenant) =>
      `O serviço não conseguiu entregar uma mensagem a um webhook do registro de auditoria de ${tenant}. Ele tentou de novo e depois pausou o webhook.`,
    gone: (tenant) =>
      `O receptor de um webhook do registro de auditoria de ${tenant} respondeu 410: ele não aceita mais mensagens. O serviço pausou o webhook.`,
    name: 'Webhook',
    receiver: 'Receptor',
    reason: 'Última falha',
    attempts: 'Tentativas',
    at: 'Pausado em',
    behind: 'Não entregue',
    entries: (count) => `${count} entradas do registro`,
    next:
      'O registro de auditoria está completo e inalterado. Quando você retomar o webhook na página dele, o ' +
      'serviço continua com o primeiro evento não entregue. Ele não envia eventos que passaram da retenção do plano.',
    open: 'Abrir o webhook',
  },

  alert: {
    subject: 'Alerta do seu registro de auditoria',
    lead: (tenant: string) =>
      `Uma regra de alerta do registro de auditoria de ${tenant} foi acionada.`,
    rule: 'Regra',
    count: 'Alertas desde a última mensagem',
    at: 'Avisado em',
    next:
      'O link mostra os alertas e os eventos que os acionaram. O serviço envia no máximo uma mensagem ' +
      'por regra a cada dez minutos. Para não receber nenhuma por algum tempo, silencie a regra.',
    open: 'Abrir os alertas',
  },
};
