import { pluralIn } from './plural.ts';
import type { trustEn } from './trust-en.ts';

const plural = pluralIn('pt-BR');

export const trustPtBr: typeof trustEn = {
  proof: {
    checking: 'Seu navegador está verificando a prova…',
    valid: 'Provado pelo seu navegador',
    validText: (position, size) =>
      `Este evento é a entrada ${position} de um registro assinado de ${size} entradas. Seu navegador recalculou o hash, seguiu a prova de inclusão até o ponto de controle assinado e verificou a assinatura.`,
    limits: 'Isso não mostra que o evento diz a verdade, nem que não falta outro evento.',
    failed: 'A prova não se sustenta',
    failedText: 'O que o serviço mostra não é o que o registro assinado contém.',
    unavailable: 'Ainda sem prova',
    unavailableText: 'O serviço não pôde dar uma prova agora.',
    again: 'Verificar de novo',
    details: 'O que foi verificado',
    leaf: 'Hash da folha',
    key: 'Assinado por',
    withoutErased:
      'O que foi apagado está no registro só como hash: ninguém pode lê-lo nem adivinhá-lo.',
  },
  erased: {
    badge: 'Apagado em parte',
    value: 'apagado',
    title: 'Uma parte deste evento foi apagada',
    change: 'os campos que mudaram e o motivo',
    identity: 'o e-mail, o endereço IP e o dispositivo da pessoa, e o nome do recurso',
    state: 'os estados antes e depois',
    text: 'Quem opera o serviço a apagou, como quando uma pessoa pede para ser esquecida. Isso mesmo é um evento deste registro, com seu motivo.',
    stays: 'Todo o resto está como foi registrado, e o registro ainda o prova.',
    records: 'Ver o que foi apagado e por quê',
  },
  left: {
    title: (tenant) => `${tenant} saiu.`,
    text: (when) =>
      `Seus eventos foram removidos em ${when} e não se registram mais. O registro dos hashes permanece e ainda pode ser verificado.`,
  },
  versions: {
    title: 'Versões',
    intro: 'Escolha duas versões para vê-las lado a lado.',
    count: (n) => plural(n, `${n} versão`, `${n} versões`),
    left: 'Esq.',
    right: 'Dir.',
    current: 'Atual',
    beforeFirst: 'Antes da primeira mudança registrada',
    deleted: 'Excluído',
    same: 'Estas duas versões são iguais.',
    differing: (n) => plural(n, `${n} diferença`, `${n} diferenças`),
    onlyDifferences: 'Só diferenças',
    none: 'Nenhum estado completo deste recurso foi registrado.',
    erased: (n) =>
      plural(
        n,
        `Os estados de ${n} mudança foram apagados.`,
        `Os estados de ${n} mudanças foram apagados.`,
      ),
    pickLeft: (version) => `Mostrar ${version} à esquerda`,
    pickRight: (version) => `Mostrar ${version} à direita`,
    by: (who) => `por ${who}`,
    allEvents: 'Todos os seus eventos',
    absent: 'ausente',
    history: 'Histórico',
  },
  restore: {
    button: 'Restaurar esta versão',
    title: (name) => `Restaurar ${name}`,
    intro:
      'Seu aplicativo receberá o pedido de devolver estes valores. Ele decide, e o que responder fica registrado.',
    current: 'Atual',
    target: 'Passará a ser',
    confirm: 'Restaurar',
    cancel: 'Cancelar',
    close: 'Fechar',
    working: 'Perguntando ao seu aplicativo…',
    applied: 'Restaurado',
    appliedText: 'Seu aplicativo devolveu os valores. O pedido e o resultado estão no registro.',
    refused: 'Seu aplicativo recusou',
    failed: 'Não foi possível falar com seu aplicativo',
    failedText: 'Até onde o serviço sabe, nada mudou. A tentativa está no registro.',
    unavailableTitle: 'A restauração não está configurada',
    unavailableText:
      'Para restaurar é preciso um endereço do seu aplicativo que devolva valores. Quem o administra define restoreUrl para esta organização; o guia de restauração mostra como.',
    notAllowed: 'Sua conta não pode restaurar.',
    nothing: 'Nada mudaria.',
  },
  access: {
    title: 'Acesso do operador',
    intro:
      'Cada vez que o operador deste produto olhou seus dados, com o motivo que deu. Ninguém pode remover uma entrada.',
    operator: 'Operador',
    reason: 'Motivo declarado',
    noReason: 'Nenhum motivo declarado',
    what: 'O que foi feito',
    attested: 'Atestado por',
    byService: 'O próprio serviço',
    byKey: 'Chave de API',
    byServiceHint: 'Escrito pelo serviço de auditoria no momento do acesso.',
    byKeyHint: 'Informado por um aplicativo que tem esta chave de API.',
    visits: (n) => plural(n, 'visita', 'visitas'),
    operators: (n) => plural(n, 'operador', 'operadores'),
    missing: 'sem motivo',
    missingHere: (n, text) =>
      plural(
        n,
        `de ${text} visita nesta página, sem motivo`,
        `de ${text} visitas nesta página, sem motivo`,
      ),
    download: 'Baixar CSV',
    none: 'Nenhum operador olhou seus dados neste período.',
  },
  recordings: {
    title: 'Acesso a gravações',
    intro: 'Quem ouviu ou obteve gravações, por pessoa e dia.',
    person: 'Pessoa',
    total: 'Total',
    cell: (who, day, count) => `${who}, ${day}: ${count}`,
    seeEvents: 'Ver como lista, por pessoa',
    none: 'Nenhuma gravação foi acessada neste período.',
    unusual: 'Acima do normal',
    legend: 'Acessos por dia',
    fewer: 'menos',
    moreOf: 'mais',
    others: (n, text) =>
      plural(
        n,
        `e mais ${text} pessoa com menos acessos`,
        `e mais ${text} pessoas com menos acessos`,
      ),
    clipped: (days, range) =>
      `Aqui só cabem os últimos ${days} dias desse período: ${range}. A lista tem todos.`,
  },
  integrity: {
    title: 'Integridade',
    intro:
      'Seu registro é uma árvore de Merkle cuja cabeça o serviço assina. Seu navegador recalcula aqui mesmo hashes, provas e assinatura.',
    checkpoint: 'Último ponto de controle',
    size: 'Entradas no registro',
    root: 'Hash raiz',
    origin: 'Registro',
    key: 'Chave de assinatura',
    signature: 'Assinatura',
    signatureValid: 'Válida, verificada pelo seu navegador',
    signatureInvalid: 'Inválida',
    retained: 'Eventos que você pode ver',
    oldest: 'Evento mais antigo',
    plan: 'Plano',
    verify: 'Verificar esta página',
    verifyLatest: (n) =>
      plural(n, 'Verificar o último evento', `Verificar os últimos ${n} eventos`),
    verifying: (of, done) =>
      plural(of, `${done} de ${of} evento verificado`, `${done} de ${of} eventos verificados`),
    verified: (n) =>
      plural(
        n,
        'O evento está no registro assinado',
        `Todos os ${n} eventos estão no registro assinado`,
      ),
    broken: (n) =>
      plural(
        n,
        `${n} deles não confere com o registro assinado`,
        `${n} deles não conferem com o registro assinado`,
      ),
    history: 'Desde sua última visita',
    firstVisit:
      'Este navegador lembra este ponto de controle a partir de agora e comparará o próximo com ele.',
    unchanged: 'O registro não mudou desde sua última visita.',
    extended: (before, now) =>
      `O registro cresceu de ${before} para ${now} entradas, e seu navegador verificou que nada anterior mudou.`,
    rewritten:
      'O registro não continua o que este navegador viu antes. Guarde esta página e peça uma explicação.',
    note: 'A nota assinada',
    whole: 'Para verificar todo o registro, use a linha de comando',
    copy: 'Copiar',
  },
  evidence: {
    title: 'Evidências',
    single: 'Pesquisa guardada como evidência',
    intro:
      'Pesquisas guardadas com o que correspondeu, para mostrar e verificar de novo mais tarde.',
    none: 'Nenhuma pesquisa guardada ainda. Na página de eventos, escolha “Guardar como evidência”.',
    saveTitle: 'Guardar esta pesquisa como evidência',
    saveText:
      'São guardados os critérios, o período exato, quantos eventos correspondem e um resumo de quais, com o último ponto de controle. Quem abrir a página vê se a resposta ainda é a mesma.',
    note: 'Para que serve?',
    noteHint: 'Por exemplo: caso 4711, acesso às gravações da Sra. Prado',
    save: 'Guardar',
    agrees: 'A resposta ainda é a mesma',
    agreesText: 'A pesquisa foi refeita agora e corresponde aos mesmos eventos.',
    grown: 'A resposta é a mesma, com mais desde então',
    grownText: (n, text) =>
      `O que correspondia ao guardar ainda corresponde. Desde então ${plural(n, `foi registrado mais ${text} evento correspondente`, `foram registrados mais ${text} eventos correspondentes`)}.`,
    differs: 'A resposta mudou',
    differsText: 'A pesquisa foi refeita agora e não corresponde aos mesmos eventos.',
    expired: 'Alguns dos eventos passaram da retenção desde então e não podem mais ser mostrados.',
    whenKept: 'Ao guardar',
    now: 'Agora',
    matched: 'Eventos correspondentes',
    digest: 'Resumo dos identificadores',
    checkpoint: 'Ponto de controle',
    entries: (n, text) => plural(n, `${text} entrada`, `${text} entradas`),
    criteria: 'Critérios',
    by: 'Guardada por',
    proves: 'O que isto mostra',
    provesNot: 'O que isto não mostra',
    provesNone: (range) =>
      `Neste registro, nenhum evento registrado para ${range} atende a estes critérios.`,
    provesSome: (n, text, range) =>
      plural(
        n,
        `Neste registro, exatamente ${text} evento registrado para ${range} atende a estes critérios.`,
        `Neste registro, exatamente ${text} eventos registrados para ${range} atendem a estes critérios.`,
      ),
    provesLog:
      'O registro tinha o tamanho e o hash raiz do ponto de controle, que o serviço assinou: não pode mostrar depois outro registro desse tamanho.',
    notRecorded: 'Que não aconteceu nada que nenhum sistema informou a este registro.',
    notTruth: 'Que é verdade o que os sistemas registraram.',
    notRetention: 'Nada sobre eventos que já tinham passado da retenção quando foi guardada.',
    print: 'Imprimir',
    seeEvents: 'Ver os eventos',
  },
};
