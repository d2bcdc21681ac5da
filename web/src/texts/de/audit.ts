import type { AUDIT_ACTIONS } from '../../audit-texts.ts';

const TYPES: Readonly<Record<string, string>> = {
  seed: 'Seed',
  reseed: 'Reseed',
  truncate: 'Truncate',
  export: 'Export',
};
const typeText = (type: unknown) => TYPES[String(type)] ?? 'Auftrag';

export const audit: typeof AUDIT_ACTIONS = {
  'POST /api/v1/tasks': ({ type, task }) =>
    type === undefined ? 'Auftrag gestartet' : `${typeText(type)} gestartet (Auftrag #${task})`,
  'POST /api/v1/tasks/stop': 'Aufträge gestoppt',
  'POST /api/v1/tasks/{id}/cancel': ({ type, task }) => `${typeText(type)} #${task ?? ''} gestoppt`,
  'POST /api/v1/tasks/{id}/pause': ({ type, task }) => `${typeText(type)} #${task ?? ''} angehalten`,
  'POST /api/v1/tasks/{id}/resume': ({ type, task }) => `${typeText(type)} #${task ?? ''} fortgesetzt`,
  'POST /api/v1/tasks/{id}/retry': ({ task }) =>
    `fehlgeschlagene Kacheln noch einmal versucht (Auftrag #${task ?? ''})`,
  'POST /api/v1/upstreams/{host}/pause': 'Upstream pausiert',
  'POST /api/v1/upstreams/{host}/resume': 'Upstream fortgesetzt',
  'POST /api/v1/upstreams/{host}/try': 'Upstream geprüft',
  'POST /api/v1/deliveries/{kind}/{name}/test': 'Test an ein Ziel gesendet',
  'POST /api/v1/layers': 'Layer hinzugefügt',
  'PUT /api/v1/layers/{layer}': ({ enabled }, before) => {
    if (enabled === false && before.enabled !== false) return 'Layer deaktiviert';
    return before.enabled === false && enabled !== false ? 'Layer aktiviert' : 'Layer geändert';
  },
  'DELETE /api/v1/layers/{layer}': 'Layer gelöscht',
  'POST /api/v1/audit/{id}/restore': 'Layer wiederhergestellt',
  'POST /api/v1/layers/{layer}/truncate': ({ tiles }) => `Layer geleert (${tiles ?? 0} Kacheln)`,
  'POST /api/v1/layers/{layer}/invalidate': ({ tiles }) => `Kacheln invalidiert (${tiles ?? 0})`,
  'POST /api/v1/layers/{layer}/blank-areas': 'Gebiet als leer markiert',
  'DELETE /api/v1/layers/{layer}/blank-areas/{id}': 'leeres Gebiet entfernt',
  'POST /api/v1/gridsets': 'Gridset hinzugefügt',
  'PUT /api/v1/gridsets/{gridSet}': 'Gridset geändert',
  'DELETE /api/v1/gridsets/{gridSet}': 'Gridset gelöscht',
  'POST /api/v1/exports': 'Export gestartet',
  'DELETE /api/v1/exports/{id}': 'Export gelöscht',
  'POST /api/v1/schedules': 'Zeitplan hinzugefügt',
  'PUT /api/v1/schedules/{id}': 'Zeitplan geändert',
  'DELETE /api/v1/schedules/{id}': 'Zeitplan gelöscht',
  'POST /api/v1/schedules/{id}/run': 'Zeitplan ausgeführt',
  'PUT /api/v1/quota': 'Quota geändert',
  'POST /api/v1/changes/{name}/replay': ({ merged }) => `${merged ?? 0} Datenänderungen wiederholt`,
  login: 'angemeldet',
  'DELETE /api/v1/session': 'abgemeldet',
  'PUT /api/v1/me/password': 'eigenes Passwort geändert',
  'POST /api/v1/users': 'Benutzer hinzugefügt',
  'PUT /api/v1/users/{name}': 'Benutzer geändert',
  'DELETE /api/v1/users/{name}': 'Benutzer gelöscht',
  'POST /api/v1/users/{name}/sign-out': 'Sitzungen eines Benutzers beendet',
  'POST /api/v1/external-accounts/{id}/sign-out': 'Sitzungen eines externen Kontos beendet',
  'DELETE /api/v1/external-accounts/{id}': 'externes Konto entfernt',
  'POST /api/v1/tokens': 'Token erstellt',
  'DELETE /api/v1/tokens/{id}': 'Token widerrufen',
  'POST /api/v1/keys': 'Schlüssel für Leser erstellt',
  'DELETE /api/v1/keys/{id}': 'Schlüssel für Leser gelöscht',
  change: ({ merged }) => `${merged ?? 1} ${merged === 1 ? 'Datenänderung' : 'Datenänderungen'} angewendet`,
  'POST /rest/reload': 'Konfigurationsdatei neu geladen',
};
