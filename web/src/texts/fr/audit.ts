import type { AUDIT_ACTIONS } from '../../audit-texts.ts';

const TYPES: Readonly<Record<string, string>> = {
  seed: 'seed',
  reseed: 'reseed',
  truncate: 'truncate',
  export: 'export',
};
const typeText = (type: unknown) => TYPES[String(type)] ?? 'tâche';

export const audit: typeof AUDIT_ACTIONS = {
  'POST /api/v1/tasks': ({ type, task }) =>
    type === undefined ? 'démarrage d’une tâche' : `démarrage : ${typeText(type)} (tâche n° ${task})`,
  'POST /api/v1/tasks/stop': 'arrêt de tâches',
  'POST /api/v1/tasks/{id}/cancel': ({ type, task }) => `arrêt : ${typeText(type)} n° ${task ?? ''}`,
  'POST /api/v1/tasks/{id}/pause': ({ type, task }) => `mise en pause : ${typeText(type)} n° ${task ?? ''}`,
  'POST /api/v1/tasks/{id}/resume': ({ type, task }) => `reprise : ${typeText(type)} n° ${task ?? ''}`,
  'POST /api/v1/tasks/{id}/retry': ({ task }) => `nouvel essai des tuiles en échec (tâche n° ${task ?? ''})`,
  'POST /api/v1/upstreams/{host}/pause': 'serveur en amont mis en pause',
  'POST /api/v1/upstreams/{host}/resume': 'serveur en amont repris',
  'POST /api/v1/upstreams/{host}/try': 'serveur en amont essayé',
  'POST /api/v1/deliveries/{kind}/{name}/test': 'test envoyé à une cible',
  'POST /api/v1/layers': 'ajout d’une couche',
  'PUT /api/v1/layers/{layer}': ({ enabled }, before) => {
    if (enabled === false && before.enabled !== false) return 'désactivation d’une couche';
    return before.enabled === false && enabled !== false
      ? 'activation d’une couche'
      : 'modification d’une couche';
  },
  'DELETE /api/v1/layers/{layer}': 'suppression d’une couche',
  'POST /api/v1/audit/{id}/restore': 'restauration d’une couche',
  'POST /api/v1/layers/{layer}/truncate': ({ tiles }) => `couche vidée (${tiles ?? 0} tuiles)`,
  'POST /api/v1/layers/{layer}/invalidate': ({ tiles }) => `tuiles invalidées (${tiles ?? 0})`,
  'POST /api/v1/layers/{layer}/blank-areas': 'zone déclarée vide',
  'DELETE /api/v1/layers/{layer}/blank-areas/{id}': 'suppression d’une zone vide',
  'POST /api/v1/gridsets': 'ajout d’un gridset',
  'PUT /api/v1/gridsets/{gridSet}': 'modification d’un gridset',
  'DELETE /api/v1/gridsets/{gridSet}': 'suppression d’un gridset',
  'POST /api/v1/exports': 'démarrage d’un export',
  'DELETE /api/v1/exports/{id}': 'suppression d’un export',
  'POST /api/v1/schedules': 'ajout d’une planification',
  'PUT /api/v1/schedules/{id}': 'modification d’une planification',
  'DELETE /api/v1/schedules/{id}': 'suppression d’une planification',
  'POST /api/v1/schedules/{id}/run': 'exécution d’une planification',
  'PUT /api/v1/quota': 'modification du quota',
  'POST /api/v1/changes/{name}/replay': ({ merged }) => `${merged ?? 0} changements de données rejoués`,
  login: 'connexion',
  'DELETE /api/v1/session': 'déconnexion',
  'PUT /api/v1/me/password': 'changement de son mot de passe',
  'POST /api/v1/users': 'ajout d’un utilisateur',
  'PUT /api/v1/users/{name}': 'modification d’un utilisateur',
  'DELETE /api/v1/users/{name}': 'suppression d’un utilisateur',
  'POST /api/v1/users/{name}/sign-out': 'fin des sessions d’un utilisateur',
  'POST /api/v1/external-accounts/{id}/sign-out': 'fin des sessions d’un compte externe',
  'DELETE /api/v1/external-accounts/{id}': 'suppression d’un compte externe',
  'POST /api/v1/tokens': 'création d’un jeton',
  'DELETE /api/v1/tokens/{id}': 'révocation d’un jeton',
  'POST /api/v1/keys': 'clé de lecture créée',
  'DELETE /api/v1/keys/{id}': 'clé de lecture supprimée',
  change: ({ merged }) =>
    `${merged ?? 1} ${merged === 1 ? 'changement de données appliqué' : 'changements de données appliqués'}`,
  'POST /rest/reload': 'rechargement du fichier de configuration',
};
