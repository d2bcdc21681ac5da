import type { AUDIT_ACTIONS } from '../../audit-texts.ts';

const TYPES: Readonly<Record<string, string>> = {
  seed: 'seed',
  reseed: 'reseed',
  truncate: 'truncate',
  export: 'exportación',
};
const typeText = (type: unknown) => TYPES[String(type)] ?? 'tarea';

export const audit: typeof AUDIT_ACTIONS = {
  'POST /api/v1/tasks': ({ type, task }) =>
    type === undefined ? 'inició una tarea' : `inició: ${typeText(type)} (tarea #${task})`,
  'POST /api/v1/tasks/stop': 'detuvo tareas',
  'POST /api/v1/tasks/{id}/cancel': ({ type, task }) => `detuvo: ${typeText(type)} #${task ?? ''}`,
  'POST /api/v1/tasks/{id}/pause': ({ type, task }) => `pausó: ${typeText(type)} #${task ?? ''}`,
  'POST /api/v1/tasks/{id}/resume': ({ type, task }) => `reanudó: ${typeText(type)} #${task ?? ''}`,
  'POST /api/v1/tasks/{id}/retry': ({ task }) => `reintentó las teselas fallidas (tarea #${task ?? ''})`,
  'POST /api/v1/upstreams/{host}/pause': 'servidor de origen en pausa',
  'POST /api/v1/upstreams/{host}/resume': 'servidor de origen reanudado',
  'POST /api/v1/upstreams/{host}/try': 'servidor de origen probado',
  'POST /api/v1/deliveries/{kind}/{name}/test': 'prueba enviada a un destino',
  'POST /api/v1/layers': 'añadió una capa',
  'PUT /api/v1/layers/{layer}': ({ enabled }, before) => {
    if (enabled === false && before.enabled !== false) return 'desactivó una capa';
    return before.enabled === false && enabled !== false ? 'activó una capa' : 'modificó una capa';
  },
  'DELETE /api/v1/layers/{layer}': 'eliminó una capa',
  'POST /api/v1/audit/{id}/restore': 'restauró una capa',
  'POST /api/v1/layers/{layer}/truncate': ({ tiles }) => `vació una capa (${tiles ?? 0} teselas)`,
  'POST /api/v1/layers/{layer}/invalidate': ({ tiles }) => `invalidó teselas (${tiles ?? 0})`,
  'POST /api/v1/layers/{layer}/blank-areas': 'marcó un área como vacía',
  'DELETE /api/v1/layers/{layer}/blank-areas/{id}': 'quitó un área vacía',
  'POST /api/v1/gridsets': 'añadió un gridset',
  'PUT /api/v1/gridsets/{gridSet}': 'modificó un gridset',
  'DELETE /api/v1/gridsets/{gridSet}': 'eliminó un gridset',
  'POST /api/v1/exports': 'inició una exportación',
  'DELETE /api/v1/exports/{id}': 'eliminó una exportación',
  'POST /api/v1/schedules': 'añadió una programación',
  'PUT /api/v1/schedules/{id}': 'modificó una programación',
  'DELETE /api/v1/schedules/{id}': 'eliminó una programación',
  'POST /api/v1/schedules/{id}/run': 'ejecutó una programación',
  'PUT /api/v1/quota': 'modificó la cuota',
  'POST /api/v1/changes/{name}/replay': ({ merged }) => `${merged ?? 0} cambios de datos repetidos`,
  login: 'inició sesión',
  'DELETE /api/v1/session': 'cerró sesión',
  'PUT /api/v1/me/password': 'cambió su contraseña',
  'POST /api/v1/users': 'añadió un usuario',
  'PUT /api/v1/users/{name}': 'modificó un usuario',
  'DELETE /api/v1/users/{name}': 'eliminó un usuario',
  'POST /api/v1/users/{name}/sign-out': 'cerró las sesiones de un usuario',
  'POST /api/v1/external-accounts/{id}/sign-out': 'cerró las sesiones de una cuenta externa',
  'DELETE /api/v1/external-accounts/{id}': 'eliminó una cuenta externa',
  'POST /api/v1/tokens': 'creó un token',
  'DELETE /api/v1/tokens/{id}': 'revocó un token',
  'POST /api/v1/keys': 'clave de lectura creada',
  'DELETE /api/v1/keys/{id}': 'clave de lectura eliminada',
  change: ({ merged }) =>
    `${merged ?? 1} ${merged === 1 ? 'cambio de datos aplicado' : 'cambios de datos aplicados'}`,
  'POST /rest/reload': 'recargó el archivo de configuración',
};
