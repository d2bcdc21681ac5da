import type { LAYER_TEXTS } from '../../layer-texts.ts';
import type { Translated } from '../../texts.ts';

export const isOne = (count: string | number) => String(count) === '0' || String(count) === '1';
export const tilesText = (count: string) => `${count} ${isOne(count) ? 'tuile' : 'tuiles'}`;
const layersText = (count: string | number) => `${count} ${isOne(count) ? 'couche' : 'couches'}`;

export const layers: Translated<typeof LAYER_TEXTS> = {
  layers: {
    several: {
      selection: 'Couches sélectionnées',
      choose: (name) => `Sélectionner ${name}`,
      chosen: (count) => (count === 1 ? '1 couche sélectionnée' : `${count} couches sélectionnées`),
      chooseAll: (count) => `Sélectionner les ${count} de la liste`,
      buttons: { seed: 'Lancer un seed', truncate: 'Vider', disable: 'Désactiver', enable: 'Activer' },
      titles: {
        seed: (count) =>
          count === 1 ? 'Lancer le seed de 1 couche ?' : `Lancer le seed de ${count} couches ?`,
        truncate: (count) => (count === 1 ? 'Vider 1 couche ?' : `Vider ${count} couches ?`),
        disable: (count) => (count === 1 ? 'Désactiver 1 couche ?' : `Désactiver ${count} couches ?`),
        enable: (count) => (count === 1 ? 'Activer 1 couche ?' : `Activer ${count} couches ?`),
      },
      texts: {
        seed: 'Chaque couche reçoit une tâche qui crée les tuiles manquantes de son premier gridset et de son premier format, dans toute son étendue.',
        truncate:
          'Toutes les tuiles en cache de ces couches seront supprimées, dans chaque gridset, format et valeur de paramètre. Elles sont recréées à la demande.',
        disable:
          'Ces couches ne sont plus listées et les requêtes de leurs tuiles sont refusées. Leurs tuiles restent.',
        enable: 'Ces couches sont de nouveau listées et servies.',
      },
      enabled: 'activée',
      inFile: 'Elle est déclarée dans le fichier de configuration : modifiez-la là.',
      results: 'Résultat par couche',
    },
    search: 'Rechercher',
    list: 'Liste des couches',
    reload: 'Recharger le fichier de configuration',
    reloaded: 'Configuration rechargée.',
    empty:
      'Aucune couche pour l’instant. Ajoutez-en une ici, ou sous « layers » dans le fichier de configuration.',
    noMatch: 'Aucun nom ni titre de couche ne correspond.',
    missing: 'Choisissez une couche.',
    unknown: (name, meant) =>
      `La couche ${name} n’existe pas.${meant === null ? '' : ` Vouliez-vous dire ${meant} ?`}`,
    pressEnter: (name) => `Appuyez sur Entrée pour choisir ${name}, ou continuez à écrire.`,
    notCached: 'pas en cache',
    order: 'Trier par',
    orders: {
      declared: 'Ordre de la configuration',
      name: 'Titre',
      changed: 'Dernière modification',
      size: 'Taille',
      failures: 'Échecs',
    },
    onlyFailing: (since, count) => `Seulement les couches avec des échecs ${since} : ${count}`,
    noneFails: (since) => `Aucun échec ${since}.`,
    changed: (ago) => `modifiée ${ago}`,
  },

  add: {
    byHand: 'Saisir à la main',
    service: 'À partir d’un service cartographique',
    url: 'Adresse d’un WMS ou WMTS',
    urlHelp:
      'Le service, ou son document de capacités. Les adresses privées demandent allowPrivate sous « upstreams » dans le fichier de configuration.',
    read: 'Lire les capacités',
    allowLine: 'Ligne pour le fichier de configuration',
    allowLineHelp: 'Si le fichier contient déjà « upstreams », ajoutez-y l’hôte.',
    reloadAndRead: 'Recharger le fichier et relire',
    reading: 'Lecture…',
    curl: 'la même chose avec curl',
    found: (count) => `${layersText(count)} ${isOne(count) ? 'trouvée' : 'trouvées'}`,
    list: 'Couches du service',
    choose: (name) => `Sélectionner ${name}`,
    chooseAll: (count) => `Tout sélectionner (${count})`,
    addMany: (count) => `Ajouter ${layersText(count)}`,
    addedMany: (count) => `${layersText(count)} ${isOne(count) ? 'ajoutée' : 'ajoutées'}.`,
    notAdded: (name, reason) => `${name} n’a pas été ajoutée : ${reason}`,
    report: (count) =>
      count === '1' ? '1 élément n’a pas été repris' : `${count} éléments n’ont pas été repris`,
    fates: { taken: 'repris', changed: 'modifié', 'left out': 'omis' },
    declaration: 'Réglages de la couche',
    formats: 'Formats',
    gridSets: 'Gridsets',
    addGridSet: 'Autre gridset',
    noGridSet: (name, meant) =>
      `Il n’y a pas de gridset ${name}.${meant === null ? '' : ` Vouliez-vous dire ${meant} ?`}`,
    addOne: 'Ajouter',
    remove: 'Retirer',
    filters: 'Filtres de paramètres',
    addFilter: 'Ajouter un filtre de paramètre',
    parameter: 'Paramètre',
    usual: 'Valeur par défaut',
    kind: 'Valeurs autorisées',
    kinds: {
      values: 'Liste de valeurs',
      regex: 'Expression régulière',
      integers: 'Entiers',
      floats: 'Nombres',
    },
    values: 'Valeurs',
    valuesLike: 'a, b, c',
    expression: 'Expression',
    type: 'Type de source',
    types: { wms: 'WMS', wmts: 'WMTS', xyz: 'Tuiles XYZ' },
    address: 'Adresse',
    sourceLayers: 'Couches',
    sourceLayersHelp: 'Noms dans le service, séparés par des virgules ; la première est au fond.',
    sourceLayer: 'Couche',
    sourceLayerHelp: 'Son identifiant dans le service.',
    json: 'Tous les réglages (JSON)',
    keys: 'Noms et sens des réglages',
    notJson: (line, column, found) =>
      `JSON invalide à la ligne ${line}, colonne ${column} : ${
        found === '' ? 'le texte se termine trop tôt' : `« ${found} » n’est pas permis ici`
      }.`,
    notNamed: 'Les réglages doivent contenir "name".',
    save: 'Enregistrer la couche',
    saveAnyway: 'Enregistrer quand même',
    affected: (tiles, bytes) =>
      `La couche montre maintenant autre chose. ${tilesText(tiles)} en cache (${bytes}) ${isOne(tiles) ? 'montre' : 'montrent'} l’ancien état :`,
    tileChoices: {
      stale: 'Les marquer comme périmées : chacune est récupérée de nouveau avant d’être montrée',
      drop: 'Les supprimer',
      keep: 'Les garder : les clients reçoivent des tuiles anciennes et nouvelles côte à côte',
    },
    orphaned: (sets) => `Jeux de tuiles que la couche n’offre plus et qui restent sur le disque : ${sets}.`,
    preview: 'Aperçu',
    previewMap: 'Carte d’aperçu : les flèches la déplacent, plus et moins changent le zoom',
    previewFailed:
      'Certaines tuiles n’ont pas pu être chargées. Vérifiez l’adresse, les noms des couches et les gridsets.',
    previewBlank: 'Saisissez l’adresse et les couches de la source pour voir un aperçu.',
    previewLater: 'L’aperçu a besoin d’un gridset qui sera créé à l’enregistrement.',
    copyTitle: (name) => `Copier ${name}`,
    copyName: (name) => `${name}-copie`,
    copyLabel: (title) => `${title} (copie)`,
    fromFile:
      'Cette couche n’a pas été ajoutée dans la console : elle est intégrée ou vient du fichier de configuration. Modifiez-la ou retirez-la là-bas, puis rechargez le fichier. Toute couche du fichier remplace celle intégrée.',
  },

  layer: {
    edit: 'Modifier',
    copy: 'Copier…',
    remove: 'Supprimer la couche…',
    removeTitle: (name) => `Supprimer ${name}`,
    disableTitle: (name) => `Désactiver ${name} ?`,
    disableText:
      'Les clients qui utilisent la couche recevront désormais une erreur. Ses tuiles sont gardées, et elle peut être réactivée.',
    isDisabled: 'Cette couche est désactivée : les demandes de ses tuiles sont refusées.',
    removeText: (tiles, bytes) =>
      `La couche et ${tiles === '1' ? 'sa seule tuile' : `ses ${tiles} tuiles`} en cache (${bytes}) seront supprimées.`,
    removeTasks: (count) =>
      count === '1' ? '1 tâche inachevée sera arrêtée.' : `${count} tâches inachevées seront arrêtées.`,
    removeSchedules: (names) => `Planifications qui seront supprimées : ${names}.`,
    removeQuota: 'Le quota de la couche sera retiré.',
    removeFeeds: (names) => `Flux de modifications qui échoueront, parce qu’ils la nomment : ${names}.`,
    removeKeys: (names) => `Clés de lecture qui la nomment : ${names}.`,
    removeUndo:
      'Le journal d’audit peut rétablir les réglages et les planifications de la couche, pas ses tuiles.',
    map: 'Carte',
    gridSet: 'Gridset',
    format: 'Format',
    overlay: 'Couverture',
    overlays: { state: 'Fraîcheur', age: 'Âge', share: 'Complétude', off: 'Aucune' },
    mapHelp:
      'Carte : les flèches la déplacent, plus et moins changent le zoom, Entrée inspecte la tuile au centre',
    clickHint: 'Cliquez sur une tuile pour l’inspecter.',
    roughly: 'd’après la dernière modification de chaque page',
    legends: {
      state: ['à jour', 'en partie périmée', 'périmée', 'absente'],
      age: ['plus ancien', '30 jours', '7 jours', '1 jour', '1 heure'],
      share: ['peu', 'moitié', 'tout'],
    },
    completeness: 'Complétude',
    completenessHelp: 'Cliquez sur un niveau de zoom pour voir sa couverture sur la carte.',
    zoomsEmpty: 'aucune tuile',
    sizes: 'Jeux de tuiles',
    parameters: 'Paramètres',
    tiles: 'Tuiles',
    bytes: 'Sur le disque',
    noTiles: 'Aucune tuile en cache. Lancez un seed ou ouvrez la couche sur la carte.',
    addresses: 'Adresses pour les clients',
    closedLayer:
      'Cette couche n’est pas publique : les clients doivent envoyer un nom et un mot de passe, ou un jeton.',
    curlSeed: 'curl : seed des premiers zooms',
    seed: 'Lancer un seed…',
    empty: 'Vider la couche…',
    emptyTitle: (name) => `Vider ${name}`,
    emptyText: (tiles, bytes) =>
      `${tilesText(tiles)} (${bytes}) de tous les gridsets, formats et valeurs de paramètres ${isOne(tiles) ? 'sera supprimée' : 'seront supprimées'}. Les tuiles sont recréées à la demande.`,
    typeName: (name) => `Tapez ${name} pour confirmer`,
    emptied: (tiles) => `${tilesText(tiles)} ${isOne(tiles) ? 'supprimée' : 'supprimées'}.`,
    source: 'Source',
    sourceNames: {
      type: 'Type',
      url: 'Adresse',
      path: 'Fichier',
      layer: 'Couche',
      layers: 'Couches',
      styles: 'Styles',
      style: 'Style',
      version: 'Version',
      gridSet: 'Gridset',
      tileMatrixSet: 'Tile Matrix Set',
    },
    settings: 'Réglages effectifs',
    settingNames: {
      store: 'Stockage',
      adopts: 'Caches adoptés',
      attribution: 'Mention de la source',
      metatile: 'Métatuile',
      gutter: 'Marge (pixels)',
      followSource: 'Suivre l’expiration de la source',
      staleWhileRevalidateSeconds: 'Servir périmé pendant le renouvellement',
      staleIfErrorSeconds: 'En cas d’erreur, servir périmé pendant',
      outside: 'Demandes hors de l’étendue',
      blankIsRight: 'Tuiles vides acceptées',
      fullWms: 'WMS complet',
      infoFormats: 'Formats de GetFeatureInfo',
    },
    byStandard: 'valeur par défaut de chaque service',
    access: 'Accès',
    expires: 'Les tuiles expirent après',
    clientExpires: 'Cache-Control pour les clients',
    notSent: 'non envoyé',
    changed: 'Dernière modification',
    failing: (count, since, message, ago) =>
      `${count} ${isOne(count) ? 'échec' : 'échecs'} ${since}. Le dernier, ${ago} : ${message}`,
    fromZoom: (zoom, time) => `à partir du zoom ${zoom} : ${time}`,
    tasks: 'Tâches de cette couche',
    tileFailed: (address) => `Échec du chargement de la tuile : ${address}`,
  },

  exports: {
    title: 'Exports',
    add: 'Exporter…',
    none: 'Aucun export. Un export copie les tuiles en cache dans un fichier MBTiles, PMTiles ou GeoPackage.',
    zooms: (from, to) => (from === to ? `zoom ${from}` : `zooms ${from} à ${to}`),
    download: (size) => `Télécharger (${size})`,
    states: {
      pending: (_tiles, reason) => `En attente. ${reason}`,
      running: (tiles, _reason) => `${tilesText(tiles)} ${isOne(tiles) ? 'écrite' : 'écrites'}. Démarré`,
      done: (tiles, _reason) => `${tilesText(tiles)}. Terminé`,
      failed: (_tiles, reason) => `Échec : ${reason}`,
    },
  },

  blanks: {
    title: 'Zones vides connues',
    add: 'Déclarer une zone vide…',
    everywhere: 'Les tuiles vides sont acceptées partout (blankIsRight dans les réglages).',
    none: 'Aucune. Une tuile vide parmi des tuiles non vides peut être une erreur du serveur en amont : elle ne reste que peu de temps en cache.',
    allGridSets: 'tous les gridsets',
    wholeLayer: 'toute la couche',
    corners: (count) => `zone de ${count} sommets`,
    fromFile: 'fichier de configuration',
    suspects: (count) =>
      count === 1
        ? 'Une métatuile vide à côté de métatuiles non vides :'
        : `${count} métatuiles vides à côté de métatuiles non vides :`,
    tiles: (count, first) => (count === 1 ? `tuile ${first}` : `${count} tuiles à partir de ${first}`),
    refused: 'non enregistrée',
    kept: 'en cache pour peu de temps',
    accept: 'Accepter',
  },
};
