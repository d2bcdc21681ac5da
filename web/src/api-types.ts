// Written by npm run web:types.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        "/api/v1/tasks": {
            tasks: {
                id: number;
                layer: string;
                /** @enum {string} */
                type: "seed" | "reseed" | "truncate";
                /** @enum {string} */
                state: "pending" | "running" | "paused" | "done" | "aborted";
                tilesProcessed: number;
                tilesTotal: number;
                secondsRemaining: number;
                tilesPerSecond: number;
                reason: string | null;
                waitingFor: {
                    host: string | null;
                    until: string;
                    /** @enum {string} */
                    reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing" | "store-full" | "store-failed";
                    text: string;
                } | null;
                gridSet: string;
                format: string;
                parameters: {
                    [key: string]: string;
                };
                zoomStart: number;
                zoomStop: number;
                bounds: [
                    number,
                    number,
                    number,
                    number
                ];
                area: {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                } | null;
                onlyStale: boolean;
                threadCount: number;
                priority: number;
                tileFailureRetryCount: number;
                tileFailureRetryWaitTime: number;
                totalFailuresBeforeAborting: number;
                counters: {
                    made: number;
                    present: number;
                    removed: number;
                    blank: number;
                    failed: number;
                    bytes: number;
                    upstreamRequests: number;
                };
                evictedTiles?: number;
                evictedBytes?: number;
                errors: {
                    at: string;
                    z: number;
                    x: number;
                    y: number;
                    message: string;
                }[];
                createdBy: string;
                createdAt: string;
                startedAt: string | null;
                endedAt: string | null;
            }[];
            nextBefore: number | null;
        };
        "POST /api/v1/tasks": {
            layer: string;
            /**
             * @default seed
             * @enum {string}
             */
            type?: "seed" | "reseed" | "truncate";
            gridSet?: string;
            format?: string;
            zoomStart?: number;
            zoomStop?: number;
            bounds?: [
                number,
                number,
                number,
                number
            ];
            area?: {
                /** @constant */
                type: "Polygon";
                coordinates: [
                    number,
                    number
                ][][];
            } | {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | {
                /** @constant */
                type: "Feature";
                geometry: {
                    /** @constant */
                    type: "Polygon";
                    coordinates: [
                        number,
                        number
                    ][][];
                } | {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                };
            } | {
                /** @constant */
                type: "FeatureCollection";
                features: {
                    /** @constant */
                    type: "Feature";
                    geometry: {
                        /** @constant */
                        type: "Polygon";
                        coordinates: [
                            number,
                            number
                        ][][];
                    } | {
                        /** @constant */
                        type: "MultiPolygon";
                        coordinates: [
                            number,
                            number
                        ][][][];
                    };
                }[];
            };
            /** @enum {string} */
            areaCrs?: "EPSG:4326" | "grid-set";
            parameters?: {
                [key: string]: string;
            };
            threadCount?: number;
            priority?: number;
            tileFailureRetryCount?: number;
            tileFailureRetryWaitTime?: number;
            totalFailuresBeforeAborting?: number;
            idempotencyKey?: string;
            /** @default false */
            dryRun?: boolean;
        };
        "/api/v1/tasks/{id}": {
            id: number;
            layer: string;
            /** @enum {string} */
            type: "seed" | "reseed" | "truncate";
            /** @enum {string} */
            state: "pending" | "running" | "paused" | "done" | "aborted";
            tilesProcessed: number;
            tilesTotal: number;
            secondsRemaining: number;
            tilesPerSecond: number;
            reason: string | null;
            waitingFor: {
                host: string | null;
                until: string;
                /** @enum {string} */
                reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing" | "store-full" | "store-failed";
                text: string;
            } | null;
            gridSet: string;
            format: string;
            parameters: {
                [key: string]: string;
            };
            zoomStart: number;
            zoomStop: number;
            bounds: [
                number,
                number,
                number,
                number
            ];
            area: {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | null;
            onlyStale: boolean;
            threadCount: number;
            priority: number;
            tileFailureRetryCount: number;
            tileFailureRetryWaitTime: number;
            totalFailuresBeforeAborting: number;
            counters: {
                made: number;
                present: number;
                removed: number;
                blank: number;
                failed: number;
                bytes: number;
                upstreamRequests: number;
            };
            evictedTiles?: number;
            evictedBytes?: number;
            errors: {
                at: string;
                z: number;
                x: number;
                y: number;
                message: string;
            }[];
            createdBy: string;
            createdAt: string;
            startedAt: string | null;
            endedAt: string | null;
        };
        "/api/v1/schedules": {
            schedules: {
                id: number;
                layer: string;
                name: string;
                /** @enum {string} */
                type: "seed" | "reseed" | "truncate" | "invalidate";
                cron: string;
                timeZone: string;
                hours: string | null;
                /** @enum {string} */
                overrun: "pause" | "stop" | "finish";
                enabled: boolean;
                /** @enum {string} */
                origin: "configuration" | "interface";
                gridSet: string | null;
                format: string | null;
                parameters: {
                    [key: string]: string;
                } | null;
                zoomStart: number | null;
                zoomStop: number | null;
                bounds: [
                    number,
                    number,
                    number,
                    number
                ] | null;
                area: {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                } | null;
                areaCrs: ("EPSG:4326" | "grid-set") | null;
                threadCount: number | null;
                priority: number | null;
                tileFailureRetryCount: number | null;
                tileFailureRetryWaitTime: number | null;
                totalFailuresBeforeAborting: number | null;
                nextRuns: string[];
                lastRun: {
                    dueAt: string;
                    at: string;
                    /** @enum {string} */
                    state: "started" | "held" | "over" | "skipped" | "failed";
                    taskId: number | null;
                    detail: string | null;
                } | null;
                createdBy: string;
                createdAt: string;
            }[];
        };
        "POST /api/v1/schedules": {
            layer: string;
            /**
             * @default seed
             * @enum {string}
             */
            type?: "seed" | "reseed" | "truncate" | "invalidate";
            gridSet?: string;
            format?: string;
            zoomStart?: number;
            zoomStop?: number;
            bounds?: [
                number,
                number,
                number,
                number
            ];
            area?: {
                /** @constant */
                type: "Polygon";
                coordinates: [
                    number,
                    number
                ][][];
            } | {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | {
                /** @constant */
                type: "Feature";
                geometry: {
                    /** @constant */
                    type: "Polygon";
                    coordinates: [
                        number,
                        number
                    ][][];
                } | {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                };
            } | {
                /** @constant */
                type: "FeatureCollection";
                features: {
                    /** @constant */
                    type: "Feature";
                    geometry: {
                        /** @constant */
                        type: "Polygon";
                        coordinates: [
                            number,
                            number
                        ][][];
                    } | {
                        /** @constant */
                        type: "MultiPolygon";
                        coordinates: [
                            number,
                            number
                        ][][][];
                    };
                }[];
            };
            /** @enum {string} */
            areaCrs?: "EPSG:4326" | "grid-set";
            parameters?: {
                [key: string]: string;
            };
            threadCount?: number;
            priority?: number;
            tileFailureRetryCount?: number;
            tileFailureRetryWaitTime?: number;
            totalFailuresBeforeAborting?: number;
            name: string;
            cron: string;
            /** @default UTC */
            timeZone?: string;
            /** @default null */
            hours?: string | null;
            /**
             * @default pause
             * @enum {string}
             */
            overrun?: "pause" | "stop" | "finish";
            /** @default true */
            enabled?: boolean;
        };
        "/api/v1/schedules/{id}": {
            id: number;
            layer: string;
            name: string;
            /** @enum {string} */
            type: "seed" | "reseed" | "truncate" | "invalidate";
            cron: string;
            timeZone: string;
            hours: string | null;
            /** @enum {string} */
            overrun: "pause" | "stop" | "finish";
            enabled: boolean;
            /** @enum {string} */
            origin: "configuration" | "interface";
            gridSet: string | null;
            format: string | null;
            parameters: {
                [key: string]: string;
            } | null;
            zoomStart: number | null;
            zoomStop: number | null;
            bounds: [
                number,
                number,
                number,
                number
            ] | null;
            area: {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | null;
            areaCrs: ("EPSG:4326" | "grid-set") | null;
            threadCount: number | null;
            priority: number | null;
            tileFailureRetryCount: number | null;
            tileFailureRetryWaitTime: number | null;
            totalFailuresBeforeAborting: number | null;
            nextRuns: string[];
            lastRun: {
                dueAt: string;
                at: string;
                /** @enum {string} */
                state: "started" | "held" | "over" | "skipped" | "failed";
                taskId: number | null;
                detail: string | null;
            } | null;
            createdBy: string;
            createdAt: string;
        };
        "PUT /api/v1/schedules/{id}": {
            layer: string;
            /**
             * @default seed
             * @enum {string}
             */
            type?: "seed" | "reseed" | "truncate" | "invalidate";
            gridSet?: string;
            format?: string;
            zoomStart?: number;
            zoomStop?: number;
            bounds?: [
                number,
                number,
                number,
                number
            ];
            area?: {
                /** @constant */
                type: "Polygon";
                coordinates: [
                    number,
                    number
                ][][];
            } | {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | {
                /** @constant */
                type: "Feature";
                geometry: {
                    /** @constant */
                    type: "Polygon";
                    coordinates: [
                        number,
                        number
                    ][][];
                } | {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                };
            } | {
                /** @constant */
                type: "FeatureCollection";
                features: {
                    /** @constant */
                    type: "Feature";
                    geometry: {
                        /** @constant */
                        type: "Polygon";
                        coordinates: [
                            number,
                            number
                        ][][];
                    } | {
                        /** @constant */
                        type: "MultiPolygon";
                        coordinates: [
                            number,
                            number
                        ][][][];
                    };
                }[];
            };
            /** @enum {string} */
            areaCrs?: "EPSG:4326" | "grid-set";
            parameters?: {
                [key: string]: string;
            };
            threadCount?: number;
            priority?: number;
            tileFailureRetryCount?: number;
            tileFailureRetryWaitTime?: number;
            totalFailuresBeforeAborting?: number;
            name: string;
            cron: string;
            /** @default UTC */
            timeZone?: string;
            /** @default null */
            hours?: string | null;
            /**
             * @default pause
             * @enum {string}
             */
            overrun?: "pause" | "stop" | "finish";
            /** @default true */
            enabled?: boolean;
        };
        "/api/v1/schedules/{id}/runs": {
            runs: {
                dueAt: string;
                at: string;
                /** @enum {string} */
                state: "started" | "held" | "over" | "skipped" | "failed";
                taskId: number | null;
                detail: string | null;
            }[];
        };
        "POST /api/v1/layers/{layer}/truncate": {
            gridSets?: string[];
            formats?: string[];
            parameters?: {
                [key: string]: string;
            };
            zoomStart?: number;
            zoomStop?: number;
            bounds?: [
                number,
                number,
                number,
                number
            ];
            area?: {
                /** @constant */
                type: "Polygon";
                coordinates: [
                    number,
                    number
                ][][];
            } | {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | {
                /** @constant */
                type: "Feature";
                geometry: {
                    /** @constant */
                    type: "Polygon";
                    coordinates: [
                        number,
                        number
                    ][][];
                } | {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                };
            } | {
                /** @constant */
                type: "FeatureCollection";
                features: {
                    /** @constant */
                    type: "Feature";
                    geometry: {
                        /** @constant */
                        type: "Polygon";
                        coordinates: [
                            number,
                            number
                        ][][];
                    } | {
                        /** @constant */
                        type: "MultiPolygon";
                        coordinates: [
                            number,
                            number
                        ][][][];
                    };
                }[];
            };
            /** @enum {string} */
            areaCrs?: "EPSG:4326" | "grid-set";
            olderThan?: string;
            /** @default false */
            dryRun?: boolean;
        };
        "POST /api/v1/layers/{layer}/invalidate": {
            gridSets?: string[];
            formats?: string[];
            parameters?: {
                [key: string]: string;
            };
            zoomStart?: number;
            zoomStop?: number;
            bounds?: [
                number,
                number,
                number,
                number
            ];
            area?: {
                /** @constant */
                type: "Polygon";
                coordinates: [
                    number,
                    number
                ][][];
            } | {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | {
                /** @constant */
                type: "Feature";
                geometry: {
                    /** @constant */
                    type: "Polygon";
                    coordinates: [
                        number,
                        number
                    ][][];
                } | {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                };
            } | {
                /** @constant */
                type: "FeatureCollection";
                features: {
                    /** @constant */
                    type: "Feature";
                    geometry: {
                        /** @constant */
                        type: "Polygon";
                        coordinates: [
                            number,
                            number
                        ][][];
                    } | {
                        /** @constant */
                        type: "MultiPolygon";
                        coordinates: [
                            number,
                            number
                        ][][][];
                    };
                }[];
            };
            /** @enum {string} */
            areaCrs?: "EPSG:4326" | "grid-set";
            olderThan?: string;
            tiles?: string[];
            /** @default false */
            renew?: boolean;
            /** @default false */
            dryRun?: boolean;
        };
        "/api/v1/layers/{layer}/blank-areas": {
            layer: string;
            everywhere: boolean;
            areas: {
                id: number | null;
                /** @enum {string} */
                origin: "configuration" | "interface";
                gridSet: string | null;
                zoomStart: number;
                zoomStop: number;
                area: unknown;
                areaCrs: ("EPSG:4326" | "grid-set") | null;
                note: string;
                createdBy: string | null;
                createdAt: string | null;
            }[];
            suspects: {
                gridSet: string;
                z: number;
                tiles: string[];
                bounds: number[];
                format: string;
                parametersId: string | null;
                at: string;
                times: number;
                refused: boolean;
            }[];
        };
        "POST /api/v1/layers/{layer}/blank-areas": {
            gridSet?: string;
            zoomStart?: number;
            zoomStop?: number;
            bounds?: [
                number,
                number,
                number,
                number
            ];
            area?: {
                /** @constant */
                type: "Polygon";
                coordinates: [
                    number,
                    number
                ][][];
            } | {
                /** @constant */
                type: "MultiPolygon";
                coordinates: [
                    number,
                    number
                ][][][];
            } | {
                /** @constant */
                type: "Feature";
                geometry: {
                    /** @constant */
                    type: "Polygon";
                    coordinates: [
                        number,
                        number
                    ][][];
                } | {
                    /** @constant */
                    type: "MultiPolygon";
                    coordinates: [
                        number,
                        number
                    ][][][];
                };
            } | {
                /** @constant */
                type: "FeatureCollection";
                features: {
                    /** @constant */
                    type: "Feature";
                    geometry: {
                        /** @constant */
                        type: "Polygon";
                        coordinates: [
                            number,
                            number
                        ][][];
                    } | {
                        /** @constant */
                        type: "MultiPolygon";
                        coordinates: [
                            number,
                            number
                        ][][][];
                    };
                }[];
            };
            /** @enum {string} */
            areaCrs?: "EPSG:4326" | "grid-set";
            tiles?: string[];
            /** @default  */
            note?: string;
        };
        "/api/v1/layers/{layer}/coverage/{gridSet}": {
            layer: string;
            gridSet: string;
            format: string;
            parametersId: string | null;
            zooms: {
                z: number;
                tiles: number;
                bytes: number;
                offered: number;
            }[];
        };
        "/api/v1/layers/{layer}/coverage/{gridSet}/{z}": {
            layer: string;
            gridSet: string;
            format: string;
            parametersId: string | null;
            z: number;
            /** @enum {string} */
            shows?: "age" | "share";
            ageSteps?: number[];
            cell: number;
            minX?: number;
            minY?: number;
            columns: number;
            rows: number;
            bounds: [
                number,
                number,
                number,
                number
            ] | null;
            runs: number[];
        };
        "/api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}": {
            layer: string;
            gridSet: string;
            format: string;
            parametersId: string | null;
            z: number;
            x: number;
            y: number;
            parameters: {
                [key: string]: string;
            };
            bounds: [
                number,
                number,
                number,
                number
            ];
            stored: {
                bytes: number;
                checksum: string;
                storedAt: string;
                ageSeconds: number;
                expiresAt: string | null;
                expired: boolean;
                madeBy: {
                    /** @enum {string} */
                    kind: "task" | "request" | "unknown";
                    task: number | null;
                    inHistory: boolean;
                };
            } | null;
            page: {
                x: number;
                y: number;
                hits: number;
                lastUsedAt: string | null;
            };
            metatile: {
                minX: number;
                minY: number;
                maxX: number;
                maxY: number;
            } | null;
            upstream: string | null;
        };
        "/api/v1/quota": {
            enabled: boolean;
            diskBlockSize: number;
            cacheCleanUpFrequency: number;
            /** @enum {string} */
            cacheCleanUpUnits: "SECONDS" | "MINUTES" | "HOURS" | "DAYS";
            maxConcurrentCleanUps: number;
            /** @enum {string} */
            globalExpirationPolicyName: "LRU" | "LFU";
            cleanUpSeconds: number;
            globalQuota: {
                value: number;
                /** @enum {string} */
                units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                bytes: number;
            };
            layerQuotas: {
                layer: string;
                /** @enum {string} */
                expirationPolicyName: "LRU" | "LFU";
                quota: {
                    value: number;
                    /** @enum {string} */
                    units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                    bytes: number;
                };
            }[];
        };
        "PUT /api/v1/quota": {
            enabled?: boolean;
            diskBlockSize?: number;
            cacheCleanUpFrequency?: number;
            /** @enum {string} */
            cacheCleanUpUnits?: "SECONDS" | "MINUTES" | "HOURS" | "DAYS";
            cleanUpSeconds?: number;
            maxConcurrentCleanUps?: number;
            /** @enum {string} */
            globalExpirationPolicyName?: "LRU" | "LFU";
            globalQuota?: {
                value: number;
                /** @enum {string} */
                units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                bytes?: number;
            };
            layerQuotas?: {
                layer: string;
                /** @enum {string} */
                expirationPolicyName: "LRU" | "LFU";
                quota: {
                    value: number;
                    /** @enum {string} */
                    units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                    bytes?: number;
                };
            }[];
        };
        "/api/v1/usage": {
            bytes: number;
            tiles: number;
            sweeping: number;
            sweepingFiles: number;
            quota: {
                enabled: boolean;
                diskBlockSize: number;
                cacheCleanUpFrequency: number;
                /** @enum {string} */
                cacheCleanUpUnits: "SECONDS" | "MINUTES" | "HOURS" | "DAYS";
                maxConcurrentCleanUps: number;
                /** @enum {string} */
                globalExpirationPolicyName: "LRU" | "LFU";
                cleanUpSeconds: number;
                globalQuota: {
                    value: number;
                    /** @enum {string} */
                    units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                    bytes: number;
                };
                layerQuotas: {
                    layer: string;
                    /** @enum {string} */
                    expirationPolicyName: "LRU" | "LFU";
                    quota: {
                        value: number;
                        /** @enum {string} */
                        units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                        bytes: number;
                    };
                }[];
            };
            share: number | null;
            evicted: {
                pages: number;
                bytes: number;
                tiles: number;
            };
            growthPerDay: number | null;
            fullInDays: number | null;
            disks: {
                store: string;
                freeBytes: number;
                freePercent: number;
                folder: string;
                minFreePercent: number;
                storing: boolean;
            }[];
            layers: {
                name: string;
                bytes: number;
                tiles: number;
                quota: number | null;
                share: number | null;
                evicted: {
                    pages: number;
                    bytes: number;
                    tiles: number;
                };
                tileSets: {
                    gridSet: string;
                    format: string;
                    parametersId: string | null;
                    parameters: {
                        [key: string]: string;
                    } | null;
                    bytes: number;
                    tiles: number;
                    zooms: {
                        z: number;
                        bytes: number;
                        tiles: number;
                    }[];
                }[];
            }[];
        };
        "/api/v1/evictions": {
            from: string;
            stepSeconds: number;
            tiles: number[];
            bytes: number[];
            layers: {
                name: string;
                tiles: number[];
                bytes: number[];
            }[];
        };
        "/api/v1/layers": {
            layers: {
                name: string;
                title: string;
                /** @enum {string} */
                access: "public" | "authenticated" | "viewer" | "operator" | "admin";
                gridSets: string[];
                formats: string[];
                changedAt: string | null;
                failures: number;
                lastFailure: {
                    at: string;
                    reason: string;
                    message: string;
                } | null;
            }[];
        };
        "POST /api/v1/layers": {
            name?: string;
        } & {
            [key: string]: unknown;
        };
        "/api/v1/layers/{layer}": {
            /** @enum {string} */
            origin: "file" | "database";
            version: number | null;
            document: unknown;
            name: string;
            title: string;
            description: string;
            /** @enum {string} */
            access: "public" | "authenticated" | "viewer" | "operator" | "admin";
            source: {
                [key: string]: string;
            };
            store: string | null;
            attribution: string;
            gridSets: {
                name: string;
                srs: string;
                extent: [
                    number,
                    number,
                    number,
                    number
                ];
                zoomStart: number;
                zoomStop: number;
                resolutions: number[];
                tileSize: [
                    number,
                    number
                ];
                origins: [
                    number,
                    number
                ][];
            }[];
            formats: string[];
            extensions: string[];
            parameters: {
                name: string;
                default: string;
                values: string[] | null;
            }[];
            metatile: [
                number,
                number
            ];
            gutter: number;
            expireCacheSeconds: number | null;
            expireCacheByZoom: {
                minZoom: number;
                seconds: number;
            }[];
            expireClientsSeconds: number;
            expireClientsByZoom: {
                minZoom: number;
                seconds: number;
            }[];
            followSource: boolean;
            staleWhileRevalidateSeconds: number;
            staleIfErrorSeconds: number;
            outside: ("notFound" | "transparent") | null;
            blankIsRight: boolean;
            fullWms: boolean;
            infoFormats: string[];
            changedAt: string | null;
            failures: number;
            lastFailure: {
                at: string;
                reason: string;
                message: string;
            } | null;
        };
        "PUT /api/v1/layers/{layer}": {
            name?: string;
        } & {
            [key: string]: unknown;
        };
        "/api/v1/gridsets": {
            gridSets: {
                name: string;
                aliases: string[];
                description: string;
                srs: string;
                extent: [
                    number,
                    number,
                    number,
                    number
                ];
                tileSize: [
                    number,
                    number
                ];
                levels: {
                    name: string;
                    resolution: number;
                    scaleDenominator: number;
                    columns: number;
                    rows: number;
                }[];
            }[];
        };
        "POST /api/v1/gridsets": {
            name?: string;
        } & {
            [key: string]: unknown;
        };
        "PUT /api/v1/gridsets/{gridSet}": {
            name?: string;
        } & {
            [key: string]: unknown;
        };
        "POST /api/v1/import": {
            url: string;
            layers?: string[];
        };
        "/api/v1/preview": {
            gridSets: {
                name: string;
                srs: string;
                extent: [
                    number,
                    number,
                    number,
                    number
                ];
                zoomStart: number;
                zoomStop: number;
                resolutions: number[];
                tileSize: [
                    number,
                    number
                ];
                origins: [
                    number,
                    number
                ][];
            }[];
            formats: string[];
            extensions: string[];
            parameters: {
                name: string;
                default: string;
                values: string[] | null;
            }[];
        };
        "/api/v1/series": {
            from: string;
            stepSeconds: number;
            hits: number[];
            misses: number[];
            stale: number[];
            bypassed: number[];
            failed: number[];
            bytes: number[];
            missMilliseconds: number[];
            evictedTiles: number[];
            evictedBytes: number[];
        };
        "/api/v1/about": {
            version: string;
            node: string;
            startedAt: string;
        };
        "/api/v1/nodes": {
            nodes: {
                name: string;
                roles: ("serve" | "worker")[];
                version: string;
                startedAt: string;
                seenAt: string;
                leader: boolean;
                address: string | null;
            }[];
        };
        "/api/v1/upstreams": {
            upstreams: {
                host: string;
                limits: {
                    concurrency: number;
                    ratePerSecond: number | null;
                    dailyBudget: number | null;
                    quietHours: string[];
                    timeZone: string;
                };
                inFlight: number;
                waiting: {
                    interactive: number;
                    task: number;
                };
                concurrency: number;
                requestsPerSecond: number;
                budget: {
                    day: string;
                    used: number;
                    limit: number;
                } | null;
                latency: {
                    p50: number;
                    p95: number;
                } | null;
                requests: number;
                refused: number;
                errors: {
                    [key: string]: number;
                };
                /** @enum {string} */
                state: "healthy" | "probing" | "paused" | "failing";
                failuresInARow: number;
                failingSince: string | null;
                lastFailure: {
                    at: string;
                    reason: string;
                    text: string;
                } | null;
                /** @enum {string} */
                breaker: "closed" | "open" | "half-open";
                retryAfter: string | null;
                waitingUntil: string | null;
                waitingReason: ("quiet-hours" | "daily-budget" | "retry-after" | "failing") | null;
            }[];
        };
        "/api/v1/users": {
            users: {
                name: string;
                /** @enum {string} */
                role: "viewer" | "operator" | "admin";
                layers: string[];
                passwordIsInitial: boolean;
                createdAt: string;
                changedAt: string;
            }[];
        };
        "POST /api/v1/users": {
            name: string;
            password: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "admin";
            /**
             * @default [
             *       "*"
             *     ]
             */
            layers?: string[];
        };
        "/api/v1/users/{name}": {
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "admin";
            layers: string[];
            passwordIsInitial: boolean;
            createdAt: string;
            changedAt: string;
        };
        "PUT /api/v1/users/{name}": {
            password?: string;
            /** @enum {string} */
            role?: "viewer" | "operator" | "admin";
            layers?: string[];
        };
        "/api/v1/tokens": {
            tokens: {
                id: number;
                name: string;
                /** @enum {string} */
                role: "viewer" | "operator" | "admin";
                layers: string[];
                createdBy: string;
                createdAt: string;
                expiresAt: string | null;
                lastUsedAt: string | null;
            }[];
        };
        "POST /api/v1/tokens": {
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "admin";
            /**
             * @default [
             *       "*"
             *     ]
             */
            layers?: string[];
            /** @default null */
            expiresAt?: string | null;
        };
        "/api/v1/me": {
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "admin";
            layers: string[];
            /** @enum {string} */
            via: "password" | "session" | "token" | "machine";
            passwordIsInitial: boolean;
        };
        "PUT /api/v1/me/password": {
            current: string;
            password: string;
        };
        "POST /api/v1/session": {
            name: string;
            password: string;
        };
        "/api/v1/audit": {
            entries: {
                time: string;
                id: string | null;
                /** @enum {string} */
                phase: "begun" | "ended";
                actor: string | null;
                source: string | null;
                action: string;
                path: string | null;
                target: string | null;
                before: unknown;
                after: unknown;
                outcome: ("done" | "refused" | "failed") | null;
                status: number | null;
            }[];
        };
        "/api/v1/openapi.json": unknown;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
