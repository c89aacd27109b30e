import { pluralIn } from './plural.ts';
import type { trustEn } from './trust-en.ts';

const plural = pluralIn('es');

export const trustEs: typeof trustEn = {
  proof: {
    checking: 'Su navegador está comprobando la prueba…',
    valid: 'Probado por su navegador',
    validText: (position, size) =>
      `Este evento es la entrada ${position} de un registro firmado de ${size} entradas. Su navegador recalculó su hash, siguió la prueba de inclusión hasta el punto de control firmado y comprobó la firma.`,
    limits: 'Eso no demuestra que el evento diga la verdad, ni que no falte otro evento.',
    failed: 'La prueba no se sostiene',
    failedText: 'Lo que muestra el servicio no es lo que contiene el registro firmado.',
    unavailable: 'Aún no hay prueba',
    unavailableText: 'El servicio no pudo dar una prueba en este momento.',
    again: 'Comprobar de nuevo',
    details: 'Qué se comprobó',
    leaf: 'Hash de la hoja',
    key: 'Firmado por',
    withoutErased:
      'Lo borrado está en el registro solo como hash: nadie puede leerlo ni adivinarlo.',
  },
  erased: {
    badge: 'Borrado en parte',
    value: 'borrado',
    title: 'Una parte de este evento fue borrada',
    change: 'los campos cambiados y el motivo',
    identity: 'el correo, la dirección IP y el dispositivo de la persona, y el nombre del recurso',
    state: 'los estados antes y después',
    text: 'La borró quien opera el servicio, como cuando una persona pide ser olvidada. Eso mismo es un evento de este registro, con su motivo.',
    stays: 'Todo lo demás está como se registró, y el registro lo sigue probando.',
    records: 'Ver qué se borró y por qué',
  },
  left: {
    title: (tenant) => `${tenant} se ha ido.`,
    text: (when) =>
      `Sus eventos se eliminaron el ${when} y ya no se registran más. El registro de sus hashes permanece y aún se puede verificar.`,
  },
  versions: {
    title: 'Versiones',
    intro: 'Elija dos versiones para verlas una junto a otra.',
    count: (n) => plural(n, `${n} versión`, `${n} versiones`),
    left: 'Izq.',
    right: 'Der.',
    current: 'Actual',
    beforeFirst: 'Antes del primer cambio registrado',
    deleted: 'Eliminado',
    same: 'Estas dos versiones son iguales.',
    differing: (n) => plural(n, `${n} diferencia`, `${n} diferencias`),
    onlyDifferences: 'Solo diferencias',
    none: 'No se registraron estados completos de este recurso.',
    erased: (n) =>
      plural(
        n,
        `Se borraron los estados de ${n} cambio.`,
        `Se borraron los estados de ${n} cambios.`,
      ),
    pickLeft: (version) => `Mostrar ${version} a la izquierda`,
    pickRight: (version) => `Mostrar ${version} a la derecha`,
    by: (who) => `por ${who}`,
    allEvents: 'Todos sus eventos',
    absent: 'ausente',
    history: 'Historial',
  },
  restore: {
    button: 'Restaurar esta versión',
    title: (name) => `Restaurar ${name}`,
    intro:
      'Se pedirá a su aplicación que devuelva estos valores. Ella decide, y lo que responda queda registrado.',
    current: 'Actual',
    target: 'Pasará a ser',
    confirm: 'Restaurar',
    cancel: 'Cancelar',
    close: 'Cerrar',
    working: 'Preguntando a su aplicación…',
    applied: 'Restaurado',
    appliedText:
      'Su aplicación ha devuelto los valores. La petición y el resultado están en el registro.',
    refused: 'Su aplicación lo rechazó',
    failed: 'No se pudo contactar con su aplicación',
    failedText: 'Que el servicio sepa, no se ha cambiado nada. El intento está en el registro.',
    unavailableTitle: 'La restauración no está configurada',
    unavailableText:
      'Para restaurar hace falta una dirección de su aplicación que devuelva valores. Quien la administra define restoreUrl para esta organización; la guía de restauración explica cómo.',
    notAllowed: 'Su cuenta no puede restaurar.',
    nothing: 'No cambiaría nada.',
  },
  access: {
    title: 'Acceso del operador',
    intro:
      'Cada vez que el operador de este producto miró sus datos, con el motivo que dio. Nadie puede quitar una entrada.',
    operator: 'Operador',
    reason: 'Motivo declarado',
    noReason: 'Sin motivo declarado',
    what: 'Qué se hizo',
    attested: 'Da fe',
    byService: 'El propio servicio',
    byKey: 'Clave de API',
    byServiceHint: 'Escrito por el servicio de auditoría en el momento del acceso.',
    byKeyHint: 'Comunicado por una aplicación que tiene esta clave de API.',
    visits: (n) => plural(n, 'visita', 'visitas'),
    operators: (n) => plural(n, 'operador', 'operadores'),
    missing: 'sin motivo',
    missingHere: (n, text) =>
      plural(
        n,
        `de ${text} visita en esta página, sin motivo`,
        `de ${text} visitas en esta página, sin motivo`,
      ),
    download: 'Descargar CSV',
    none: 'Ningún operador miró sus datos en este periodo.',
  },
  recordings: {
    title: 'Acceso a grabaciones',
    intro: 'Quién escuchó u obtuvo grabaciones, por persona y día.',
    person: 'Persona',
    total: 'Total',
    cell: (who, day, count) => `${who}, ${day}: ${count}`,
    seeEvents: 'Verlos como lista, por persona',
    none: 'No se accedió a ninguna grabación en este periodo.',
    unusual: 'Más de lo habitual',
    legend: 'Accesos por día',
    fewer: 'menos',
    moreOf: 'más',
    others: (n, text) =>
      plural(
        n,
        `y ${text} persona más con menos accesos`,
        `y ${text} personas más con menos accesos`,
      ),
    clipped: (days, range) =>
      `Aquí solo caben los últimos ${days} días de ese periodo: ${range}. La lista los tiene todos.`,
  },
  integrity: {
    title: 'Integridad',
    intro:
      'Su registro es un árbol de Merkle cuya cabeza firma el servicio. Su navegador recalcula aquí mismo hashes, pruebas y firma.',
    checkpoint: 'Último punto de control',
    size: 'Entradas del registro',
    root: 'Hash raíz',
    origin: 'Registro',
    key: 'Clave de firma',
    signature: 'Firma',
    signatureValid: 'Válida, comprobada por su navegador',
    signatureInvalid: 'No válida',
    retained: 'Eventos que puede ver',
    oldest: 'Evento más antiguo',
    plan: 'Plan',
    verify: 'Verificar esta página',
    verifyLatest: (n) =>
      plural(n, 'Verificar el último evento', `Verificar los últimos ${n} eventos`),
    verifying: (of, done) =>
      plural(of, `${done} de ${of} evento comprobado`, `${done} de ${of} eventos comprobados`),
    verified: (n) =>
      plural(
        n,
        'El evento está en el registro firmado',
        `Los ${n} eventos están en el registro firmado`,
      ),
    broken: (n) =>
      plural(
        n,
        `${n} de ellos no concuerda con el registro firmado`,
        `${n} de ellos no concuerdan con el registro firmado`,
      ),
    history: 'Desde su última visita',
    firstVisit:
      'Este navegador recuerda desde ahora este punto de control y comparará el siguiente con él.',
    unchanged: 'El registro no ha cambiado desde su última visita.',
    extended: (before, now) =>
      `El registro creció de ${before} a ${now} entradas, y su navegador ha comprobado que no se cambió nada anterior.`,
    rewritten:
      'El registro no continúa el que este navegador vio antes. Guarde esta página y pida una explicación.',
    note: 'La nota firmada',
    whole: 'Para comprobar todo el registro, use la línea de comandos',
    copy: 'Copiar',
  },
  evidence: {
    title: 'Evidencias',
    single: 'Búsqueda guardada como evidencia',
    intro:
      'Búsquedas guardadas con lo que coincidió, para mostrarlas y comprobarlas de nuevo más tarde.',
    none: 'Aún no se ha guardado ninguna. En la página de eventos, elija «Guardar como evidencia».',
    saveTitle: 'Guardar esta búsqueda como evidencia',
    saveText:
      'Se guardan los criterios, el periodo exacto, cuántos eventos coinciden y un resumen de cuáles, con el último punto de control. Quien abra la página verá si la respuesta sigue siendo la misma.',
    note: '¿Para qué es?',
    noteHint: 'Por ejemplo: caso 4711, acceso a las grabaciones de la Sra. Prado',
    save: 'Guardar',
    agrees: 'La respuesta sigue siendo la misma',
    agreesText: 'La búsqueda se acaba de repetir y coincide con los mismos eventos.',
    grown: 'La respuesta es la misma, y hay más desde entonces',
    grownText: (n, text) =>
      `Lo que coincidía al guardarla sigue coincidiendo. Desde entonces se ${plural(n, `ha registrado ${text} evento más que coincide`, `han registrado ${text} eventos más que coinciden`)}.`,
    differs: 'La respuesta ha cambiado',
    differsText: 'La búsqueda se acaba de repetir y no coincide con los mismos eventos.',
    expired: 'Algunos de los eventos han superado su retención y ya no se pueden mostrar.',
    whenKept: 'Al guardar',
    now: 'Ahora',
    matched: 'Eventos que coinciden',
    digest: 'Resumen de los identificadores',
    checkpoint: 'Punto de control',
    entries: (n, text) => plural(n, `${text} entrada`, `${text} entradas`),
    criteria: 'Criterios',
    by: 'Guardado por',
    proves: 'Qué demuestra',
    provesNot: 'Qué no demuestra',
    provesNone: (range) =>
      `En este registro, ningún evento registrado para ${range} cumple estos criterios.`,
    provesSome: (n, text, range) =>
      plural(
        n,
        `En este registro, exactamente ${text} evento registrado para ${range} cumple estos criterios.`,
        `En este registro, exactamente ${text} eventos registrados para ${range} cumplen estos criterios.`,
      ),
    provesLog:
      'El registro tenía el tamaño y el hash raíz del punto de control, que el servicio ha firmado: no puede mostrar después otro registro de ese tamaño.',
    notRecorded: 'Que no ocurriera nada que ningún sistema comunicó a este registro.',
    notTruth: 'Que sea cierto lo que registraron los sistemas.',
    notRetention: 'Nada sobre eventos que ya habían superado su retención al guardarla.',
    print: 'Imprimir',
    seeEvents: 'Ver los eventos',
  },
};
