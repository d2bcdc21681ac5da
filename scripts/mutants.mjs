// Faults that tests must notice, for npm run test:mutants: in `file`, `line` is replaced by `fault`, and one of `tests` has
// to fail. Those of storage break promises of every store.
export const MUTANTS = [
  // storage
  {
    file: 'src/storage/index/index-file.ts',
    line: "db.pragma('synchronous = FULL');\n  try {\n    return work();",
    fault: "db.pragma('synchronous = NORMAL');\n  try {\n    return work();",
    tests: ['src/storage/segments/segment-writing.test.ts'],
  },
  {
    file: 'src/storage/segments/indexed-store.ts',
    line: 'const shown = pack.marks.length === 0 ? tile.making : shownBy(pack.marks, tile.making, x, y);',
    fault: 'const shown = tile.making;',
    tests: ['src/storage/segments/segment-store.test.ts'],
  },
  {
    file: 'src/storage/index/mark-rows.ts',
    line: 'if (making.ticket >= number ||',
    fault: 'if (making.ticket >= number + 2 ||',
    tests: ['src/storage/segments/segment-store.test.ts', 'src/storage/segments/memory-store.test.ts'],
  },
  {
    file: 'src/storage/index/mark-rows.ts',
    line: 'if (formats && !formats.includes(set.format)) return false;',
    fault: '',
    tests: ['src/storage/segments/segment-store.test.ts', 'src/storage/segments/memory-store.test.ts'],
  },
  {
    file: 'src/storage/segments/segment-writing.ts',
    line: 'if (!this.#reader.isOutdated(set, z, rect, ticket)) return null;',
    fault: 'if (z < 100 || !this.#reader.isOutdated(set, z, rect, ticket)) return null;',
    tests: ['src/storage/segments/segment-store.test.ts', 'src/storage/segments/memory-store.test.ts'],
  },
  {
    file: 'src/storage/index/marks.ts',
    line: 'const latestNumber = gone.reduce((latest, { number }) => Math.max(latest, number), 0);',
    fault: 'const latestNumber = 0;',
    tests: ['src/storage/index/marks.test.ts'],
  },
  {
    file: 'src/storage/index/marks.ts',
    line: 'yield latest\n    ?',
    fault: 'yield latest && number < 0\n    ?',
    tests: ['src/storage/index/marks.test.ts'],
  },
  // tasks
  {
    file: 'src/removal/removals.ts',
    line: 'await obeyedByAll();',
    fault: '',
    tests: ['src/removal/removals.test.ts', 'src/tasks/truncate-task.test.ts'],
  },
  {
    file: 'src/tasks/open-task-service.ts',
    line: 'for (const task of stopped) await endMarks(task);',
    fault: '',
    tests: ['src/tasks/truncate-task.test.ts'],
  },
  {
    file: 'src/tasks/perform-step.ts',
    line: "const edit = { type: 'remove', before: lease.plan.raised?.[name] } as const;",
    fault: "const edit = { type: 'remove' } as const;",
    tests: ['src/tasks/truncate-task.test.ts'],
  },
  {
    file: 'src/tasks/perform-step.ts',
    line: 'return (await tileSetsIn(store, layer)).filter((set) => selects(selection, set));',
    fault: 'return [{ layer, gridSet, format: request.format, parametersId: request.parametersId }];',
    tests: ['test/faults/older-pictures.test.ts'],
  },
  {
    file: 'src/removal/cleaner.ts',
    line: 'if (set.layer !== layer || !concerns(effect, set)) continue;',
    fault: 'if (set.layer !== layer) continue;',
    tests: ['src/tasks/invalidate-selection.test.ts', 'src/tasks/truncate-selection.test.ts'],
  },
  {
    file: 'src/removal/removals.ts',
    line: 'pipeline.forgetPlaces(layer, places ?? undefined);',
    fault: 'void places;',
    tests: ['src/removal/removals.test.ts', 'src/tasks/truncate-task.test.ts'],
  },
  {
    file: 'src/removal/removals.ts',
    line: 'if (above.length > 0) await raise(above.map(({ removal }) => removal));',
    fault: '',
    tests: ['src/removal/removals-model.test.ts'],
  },
  {
    file: 'src/removal/cleaner.ts',
    line: 'unfinished ??= marksOfTasks()',
    fault: 'unfinished = marksOfTasks()',
    tests: ['src/removal/removals.test.ts'],
  },
  {
    file: 'src/tasks/store/finish-task.ts',
    line: 'await returnPiece(query, taskId, piece, token);',
    fault: 'void [piece, token];',
    tests: ['src/tasks/store/task-store.test.ts'],
  },
  // catalog
  {
    file: 'src/catalog/incarnations.ts',
    line: 'const options = Object.fromEntries(Object.entries(source).filter(([name]) => !connection.has(name)));',
    fault: 'const options: Record<string, unknown> = { ...source, vendorParameters: null };',
    tests: ['src/catalog/incarnations.test.ts'],
  },
  {
    file: 'src/catalog/incarnations.ts',
    line: 'if (!source || !grid || !defaults) return null;',
    fault: "if (!source || !grid || !defaults) return '';",
    tests: ['src/catalog/incarnations.test.ts'],
  },
  {
    file: 'src/catalog/incarnations.ts',
    line: 'set.parametersId === null ? defaults.incarnation : FIRST_NAME,',
    fault: 'FIRST_NAME,',
    tests: ['src/catalog/incarnations.test.ts'],
  },
  {
    file: 'src/catalog/catalog.ts',
    line: 'for (const upper of uppers) unbind(upper);',
    fault: '',
    tests: ['src/catalog/catalog.test.ts'],
  },
  {
    file: 'src/catalog/tile-records.ts',
    line: 'if (!(await isReached(set, recordOf))) await store.drop(set.layer, set);',
    fault: 'await store.drop(set.layer, set);',
    tests: ['src/catalog/catalog-editor.test.ts', 'test/faults/declarations.test.ts'],
  },
  {
    file: 'src/catalog/parameter-sets.ts',
    line: 'if (!ids.has(set.parametersId) && ids.size >= most) throw tooMany(set, most);',
    fault: '',
    tests: ['src/catalog/parameter-sets.test.ts'],
  },
  // pipeline
  {
    file: 'src/pipeline/flights.ts',
    line: 'if (generation !== null && (ticket === null || ticket < generation)) return null;',
    fault: '',
    tests: ['src/pipeline/races.test.ts'],
  },
  {
    file: 'src/pipeline/metatile-maker.ts',
    line: 'if (stale) flight.outdated = true;',
    fault: '',
    tests: ['test/faults/older-pictures.test.ts'],
  },
  {
    file: 'src/pipeline/metatile-maker.ts',
    line: 'if (flight.outdated) throw outdated();',
    fault: '',
    tests: ['src/pipeline/races.test.ts', 'src/pipeline/keep.test.ts', 'src/pipeline/renew.test.ts'],
  },
  {
    file: 'src/pipeline/memory-tier.ts',
    line: 'if (rectContains(rect, load.tile.x, load.tile.y)) load.valid = false;',
    fault: '',
    tests: ['src/pipeline/memory-tier.test.ts'],
  },
  {
    file: 'src/pipeline/memory-tier.ts',
    line: 'for (const part of parts ? rectsIn(parts) : [rect]) this.drop(set, z, part);',
    fault: '',
    tests: ['src/pipeline/memory-tier.test.ts'],
  },
  {
    file: 'src/pipeline/freshness.ts',
    line: 'if (isOutdated(tile)) return false;',
    fault: '',
    tests: ['src/pipeline/freshness.test.ts', 'src/removal/removals.test.ts'],
  },
  {
    file: 'src/db/process-feed.ts',
    line: 'if (missed) this.#dispatch(MISSED, null);',
    fault: '',
    tests: ['src/db/process-feed.test.ts'],
  },
  {
    file: 'src/sources/layers/layers-source.ts',
    line: 'stale: failure !== undefined || drawn.some(({ stale }) => stale),',
    fault: 'stale: drawn.some(({ stale }) => stale),',
    tests: ['test/e2e/composed-layers.test.ts'],
  },
  // quota
  {
    file: 'src/quota/clean-up.ts',
    line: 'if (isInUse(page.writtenAt) || isInUse(page.usedAt)) continue;',
    fault: '',
    tests: ['src/quota/quota-service.test.ts'],
  },
  {
    file: 'src/quota/clean-up.ts',
    line: "if (policy === 'LFU' && a.rank !== b.rank) return a.rank < b.rank;",
    fault: '',
    tests: ['src/quota/quota-model.test.ts'],
  },
  {
    file: 'src/quota/clean-up.ts',
    line: 'if (removed >= excess || signal.aborted || clock.monotonic() > until) break;',
    fault: 'if (removed > excess || signal.aborted || clock.monotonic() > until) break;',
    tests: ['src/quota/quota-service.test.ts'],
  },
  {
    file: 'src/quota/enforce-quotas.ts',
    line: 'await options.saveUses().catch(() => undefined);',
    fault: '',
    tests: ['src/quota/quota-service.test.ts'],
  },
  {
    file: 'src/quota/quota-guard.ts',
    line: 'this.#addOnTheWay(layer, bytes);',
    fault: '',
    tests: ['src/quota/quota-guard.test.ts'],
  },
  {
    file: 'src/quota/quota-guard.ts',
    line: 'if (this.#stopping.signal.aborted || clock.monotonic() > deadline) throw full();',
    fault: 'if (this.#stopping.signal.aborted || clock.monotonic() > deadline) return;',
    tests: ['src/quota/quota-guard.test.ts'],
  },
  {
    file: 'src/storage/index/pages.ts',
    line: 'rank = max(rank, ?) + log2(1 + pow(2, -abs(rank - ?)))',
    fault: 'rank = max(rank, ?, ?)',
    tests: ['src/storage/segments/segment-usage.test.ts'],
  },
  // access
  {
    file: 'src/lib/scan-text.ts',
    line: "if (!pattern.includes('*')) return pattern === text;",
    fault: "if (!pattern.includes('*')) return text.startsWith(pattern);",
    tests: ['src/access/accounts.test.ts', 'test/security/policy-matrix.test.ts'],
  },
  {
    file: 'src/access/session-store.ts',
    line: 'return row.seen_at >= now - SESSION_IDLE_MS && row.created_at >= now - SESSION_LIFE_MS;',
    fault: 'return row.seen_at >= now - SESSION_IDLE_MS;',
    tests: ['src/access/accounts.test.ts'],
  },
  {
    file: 'src/access/key-ring.ts',
    line: 'if (key.expiresAt !== null && key.expiresAt <= this.#clock.now()) return false;',
    fault: '',
    tests: ['src/access/key-limits.test.ts', 'src/http/auth/reader-key.test.ts'],
  },
  {
    file: 'src/access/claims.ts',
    line: "const layers = layersClaim === null ? ['*'] : textsIn(claimAt(claims, layersClaim));",
    fault: "const layers = ['*', ...textsIn(claimAt(claims, layersClaim ?? ''))];",
    tests: ['src/http/api/oidc-login.test.ts'],
  },
  {
    file: 'src/access/login-throttle.ts',
    line: 'const pausedUntil = now + Math.min(FIRST_PAUSE_MS * 2 ** tally.pauses, MAX_PAUSE_MS);',
    fault: 'const pausedUntil = now;',
    tests: ['src/access/login-throttle.test.ts'],
  },
  {
    file: 'src/http/auth/area-limit.ts',
    line: "return mask === 'everything' ? null : mask;",
    fault: 'return null;',
    tests: ['src/http/services/areas-of-keys.test.ts'],
  },
  {
    file: 'src/http/auth/area-limit.ts',
    line: "if (mask === 'nothing') throw areaRefused();",
    fault: "if (mask === 'nothing') return null;",
    tests: ['src/http/services/areas-of-keys.test.ts'],
  },
  {
    file: 'src/http/services/wms/get-map.ts',
    line: 'const drawn = { layers, ...place, crs: { srs: crs.code, projection: null }, ...(mask && { mask }) };',
    fault: 'const drawn = { layers, ...place, crs: { srs: crs.code, projection: null } };',
    tests: ['src/http/services/areas-of-keys.test.ts'],
  },
  // cluster
  {
    file: 'src/cluster/node-changes.ts',
    line: 'return away && !wasStoppedAfter(lastPoll) && msSince(lastPoll) < staleMs;',
    fault: 'return msSince(lastPoll) < staleMs;',
    tests: ['src/cluster/node-changes.test.ts'],
  },
  {
    file: 'src/cluster/node-changes.ts',
    line: 'if (others.every((below) => below > since) || clock.monotonic() > deadline) return;',
    fault: 'return;',
    tests: ['src/cluster/node-changes.test.ts'],
  },
  {
    file: 'src/cluster/leadership.ts',
    line: 'if (now - beatAt > LEASE) return;',
    fault: '',
    tests: ['src/cluster/leadership.test.ts'],
  },
];
