type Fields = Readonly<Record<string, unknown>>;

/** By method and path: a text, or a function of the state after and before the request. */
export const AUDIT_ACTIONS: Readonly<
  Record<string, string | ((after: Fields, before: Fields) => string) | undefined>
> = {
  'POST /api/v1/tasks': ({ type, task }) =>
    type === undefined ? 'started a task' : `started a ${type} (task #${task})`,
  'POST /api/v1/tasks/stop': 'stopped tasks',
  'POST /api/v1/tasks/{id}/cancel': ({ type, task }) => `stopped the ${type ?? 'task'} #${task ?? ''}`,
  'POST /api/v1/tasks/{id}/pause': ({ type, task }) => `paused the ${type ?? 'task'} #${task ?? ''}`,
  'POST /api/v1/tasks/{id}/resume': ({ type, task }) => `resumed the ${type ?? 'task'} #${task ?? ''}`,
  'POST /api/v1/tasks/{id}/retry': ({ task }) => `retried failed tiles (task #${task ?? ''})`,
  'POST /api/v1/upstreams/{host}/pause': 'paused an upstream',
  'POST /api/v1/upstreams/{host}/resume': 'resumed an upstream',
  'POST /api/v1/upstreams/{host}/try': 'tried an upstream',
  'POST /api/v1/deliveries/{kind}/{name}/test': 'sent a test to a target',
  'POST /api/v1/layers': 'added a layer',
  'PUT /api/v1/layers/{layer}': ({ enabled }, before) => {
    if (enabled === false && before.enabled !== false) return 'disabled a layer';
    return before.enabled === false && enabled !== false ? 'enabled a layer' : 'changed a layer';
  },
  'DELETE /api/v1/layers/{layer}': 'deleted a layer',
  'POST /api/v1/audit/{id}/restore': 'restored a layer',
  'POST /api/v1/layers/{layer}/truncate': ({ tiles }) => `truncated a layer (${tiles ?? 0} tiles)`,
  'POST /api/v1/layers/{layer}/invalidate': ({ tiles }) => `invalidated tiles (${tiles ?? 0})`,
  'POST /api/v1/layers/{layer}/blank-areas': 'marked an area as blank',
  'DELETE /api/v1/layers/{layer}/blank-areas/{id}': 'removed a blank area',
  'POST /api/v1/gridsets': 'added a grid set',
  'PUT /api/v1/gridsets/{gridSet}': 'changed a grid set',
  'DELETE /api/v1/gridsets/{gridSet}': 'deleted a grid set',
  'POST /api/v1/exports': 'started an export',
  'DELETE /api/v1/exports/{id}': 'deleted an export',
  'POST /api/v1/schedules': 'added a schedule',
  'PUT /api/v1/schedules/{id}': 'changed a schedule',
  'DELETE /api/v1/schedules/{id}': 'deleted a schedule',
  'POST /api/v1/schedules/{id}/run': 'ran a schedule',
  'PUT /api/v1/quota': 'changed the quota',
  'POST /api/v1/changes/{name}/replay': ({ merged }) => `replayed ${merged ?? 0} data changes`,
  change: ({ merged }) => `applied ${merged ?? 1} data ${merged === 1 ? 'change' : 'changes'}`,
  login: 'signed in',
  'DELETE /api/v1/session': 'signed out',
  'PUT /api/v1/me/password': 'changed their password',
  'POST /api/v1/users': 'added a user',
  'PUT /api/v1/users/{name}': 'changed a user',
  'DELETE /api/v1/users/{name}': 'deleted a user',
  'POST /api/v1/users/{name}/sign-out': 'ended the sessions of a user',
  'POST /api/v1/external-accounts/{id}/sign-out': 'ended the sessions of an external account',
  'DELETE /api/v1/external-accounts/{id}': 'removed an external account',
  'POST /api/v1/tokens': 'created a token',
  'DELETE /api/v1/tokens/{id}': 'revoked a token',
  'POST /api/v1/keys': 'created a key for readers',
  'DELETE /api/v1/keys/{id}': 'deleted a key for readers',
  'POST /rest/reload': 'reloaded the configuration file',
};
