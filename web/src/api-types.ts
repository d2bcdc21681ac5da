// Written by npm run web:types.
export interface paths {
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tasks, newest first
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Any of pending, running, paused, done, aborted, separated by commas */
                    state?: string;
                    layer?: string;
                    type?: "seed" | "reseed" | "truncate";
                    since?: string;
                    before?: number;
                    limit?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tasks: {
                                id: number;
                                layer: string;
                                /** @enum {string} */
                                type: "seed" | "reseed" | "truncate";
                                /** @enum {string} */
                                state: "pending" | "running" | "paused" | "done" | "aborted";
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                tilesProcessed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                tilesTotal: number;
                                /** @description -1 while it cannot be told */
                                secondsRemaining: number;
                                tilesPerSecond: number;
                                reason: string | null;
                                /** @description The host that the task waits for; null while it has what it needs */
                                waitingFor: {
                                    host: string;
                                    /** Format: date-time */
                                    until: string;
                                    /** @enum {string} */
                                    reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing";
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
                                /** @description Renews what is there and no longer fresh, and makes nothing else */
                                onlyStale: boolean;
                                threadCount: number;
                                priority: number;
                                tileFailureRetryCount: number;
                                tileFailureRetryWaitTime: number;
                                totalFailuresBeforeAborting: number;
                                counters: {
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    made: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    present: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    removed: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    blank: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    failed: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    bytes: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    upstreamRequests: number;
                                };
                                /** @description Removed to keep quotas while the task ran, of whatever layer */
                                evictedTiles?: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                evictedBytes?: number;
                                errors: {
                                    /** Format: date-time */
                                    at: string;
                                    z: number;
                                    x: number;
                                    y: number;
                                    message: string;
                                }[];
                                createdBy: string;
                                /** Format: date-time */
                                createdAt: string;
                                startedAt: string | null;
                                endedAt: string | null;
                            }[];
                            /** @description Give it as `before` for the next page; null: no more */
                            nextBefore: number | null;
                        };
                    };
                };
            };
        };
        put?: never;
        /**
         * Start a task, or with dryRun tell what it would be
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        layer: string;
                        /**
                         * @default seed
                         * @enum {string}
                         */
                        type?: "seed" | "reseed" | "truncate";
                        /** @description The layer's first when absent */
                        gridSet?: string;
                        /** @description The layer's first when absent */
                        format?: string;
                        /** @description The layer's first when absent */
                        zoomStart?: number;
                        /** @description The layer's last when absent or greater */
                        zoomStop?: number;
                        /** @description minX, minY, maxX, maxY in the grid set's CRS */
                        bounds?: [
                            number,
                            number,
                            number,
                            number
                        ];
                        /** @description GeoJSON: Polygon, MultiPolygon, or features of these */
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
                        /**
                         * @description What the coordinates of area are in; EPSG:4326, longitude first, when absent
                         * @enum {string}
                         */
                        areaCrs?: "EPSG:4326" | "grid-set";
                        /** @description Those left out have their defaults; all when absent */
                        parameters?: {
                            [key: string]: string;
                        };
                        /** @description Of truncate always 1 */
                        threadCount?: number;
                        /** @description Higher goes first; 0 when absent */
                        priority?: number;
                        /** @description as usual when absent or -1 */
                        tileFailureRetryCount?: number;
                        /** @description Milliseconds; as usual when absent or -1 */
                        tileFailureRetryWaitTime?: number;
                        /** @description as usual when absent or -1 */
                        totalFailuresBeforeAborting?: number;
                        /** @description A second request with the same key answers the first task */
                        idempotencyKey?: string;
                        /**
                         * @description Only answers what the task would be
                         * @default false
                         */
                        dryRun?: boolean;
                    };
                };
            };
            responses: {
                /** @description Done. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: number;
                            layer: string;
                            /** @enum {string} */
                            type: "seed" | "reseed" | "truncate";
                            /** @enum {string} */
                            state: "pending" | "running" | "paused" | "done" | "aborted";
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesProcessed: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesTotal: number;
                            /** @description -1 while it cannot be told */
                            secondsRemaining: number;
                            tilesPerSecond: number;
                            reason: string | null;
                            /** @description The host that the task waits for; null while it has what it needs */
                            waitingFor: {
                                host: string;
                                /** Format: date-time */
                                until: string;
                                /** @enum {string} */
                                reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing";
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
                            /** @description Renews what is there and no longer fresh, and makes nothing else */
                            onlyStale: boolean;
                            threadCount: number;
                            priority: number;
                            tileFailureRetryCount: number;
                            tileFailureRetryWaitTime: number;
                            totalFailuresBeforeAborting: number;
                            counters: {
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                made: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                present: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                removed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                blank: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                failed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                upstreamRequests: number;
                            };
                            /** @description Removed to keep quotas while the task ran, of whatever layer */
                            evictedTiles?: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            evictedBytes?: number;
                            errors: {
                                /** Format: date-time */
                                at: string;
                                z: number;
                                x: number;
                                y: number;
                                message: string;
                            }[];
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                            startedAt: string | null;
                            endedAt: string | null;
                        } | {
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tiles: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            metatiles: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            upstreamRequests: number;
                            bytes: number | null;
                            seconds: number | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a task
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: number;
                            layer: string;
                            /** @enum {string} */
                            type: "seed" | "reseed" | "truncate";
                            /** @enum {string} */
                            state: "pending" | "running" | "paused" | "done" | "aborted";
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesProcessed: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesTotal: number;
                            /** @description -1 while it cannot be told */
                            secondsRemaining: number;
                            tilesPerSecond: number;
                            reason: string | null;
                            /** @description The host that the task waits for; null while it has what it needs */
                            waitingFor: {
                                host: string;
                                /** Format: date-time */
                                until: string;
                                /** @enum {string} */
                                reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing";
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
                            /** @description Renews what is there and no longer fresh, and makes nothing else */
                            onlyStale: boolean;
                            threadCount: number;
                            priority: number;
                            tileFailureRetryCount: number;
                            tileFailureRetryWaitTime: number;
                            totalFailuresBeforeAborting: number;
                            counters: {
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                made: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                present: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                removed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                blank: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                failed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                upstreamRequests: number;
                            };
                            /** @description Removed to keep quotas while the task ran, of whatever layer */
                            evictedTiles?: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            evictedBytes?: number;
                            errors: {
                                /** Format: date-time */
                                at: string;
                                z: number;
                                x: number;
                                y: number;
                                message: string;
                            }[];
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                            startedAt: string | null;
                            endedAt: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a task for good
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: number;
                            layer: string;
                            /** @enum {string} */
                            type: "seed" | "reseed" | "truncate";
                            /** @enum {string} */
                            state: "pending" | "running" | "paused" | "done" | "aborted";
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesProcessed: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesTotal: number;
                            /** @description -1 while it cannot be told */
                            secondsRemaining: number;
                            tilesPerSecond: number;
                            reason: string | null;
                            /** @description The host that the task waits for; null while it has what it needs */
                            waitingFor: {
                                host: string;
                                /** Format: date-time */
                                until: string;
                                /** @enum {string} */
                                reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing";
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
                            /** @description Renews what is there and no longer fresh, and makes nothing else */
                            onlyStale: boolean;
                            threadCount: number;
                            priority: number;
                            tileFailureRetryCount: number;
                            tileFailureRetryWaitTime: number;
                            totalFailuresBeforeAborting: number;
                            counters: {
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                made: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                present: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                removed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                blank: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                failed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                upstreamRequests: number;
                            };
                            /** @description Removed to keep quotas while the task ran, of whatever layer */
                            evictedTiles?: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            evictedBytes?: number;
                            errors: {
                                /** Format: date-time */
                                at: string;
                                z: number;
                                x: number;
                                y: number;
                                message: string;
                            }[];
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                            startedAt: string | null;
                            endedAt: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a task wait
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: number;
                            layer: string;
                            /** @enum {string} */
                            type: "seed" | "reseed" | "truncate";
                            /** @enum {string} */
                            state: "pending" | "running" | "paused" | "done" | "aborted";
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesProcessed: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesTotal: number;
                            /** @description -1 while it cannot be told */
                            secondsRemaining: number;
                            tilesPerSecond: number;
                            reason: string | null;
                            /** @description The host that the task waits for; null while it has what it needs */
                            waitingFor: {
                                host: string;
                                /** Format: date-time */
                                until: string;
                                /** @enum {string} */
                                reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing";
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
                            /** @description Renews what is there and no longer fresh, and makes nothing else */
                            onlyStale: boolean;
                            threadCount: number;
                            priority: number;
                            tileFailureRetryCount: number;
                            tileFailureRetryWaitTime: number;
                            totalFailuresBeforeAborting: number;
                            counters: {
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                made: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                present: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                removed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                blank: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                failed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                upstreamRequests: number;
                            };
                            /** @description Removed to keep quotas while the task ran, of whatever layer */
                            evictedTiles?: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            evictedBytes?: number;
                            errors: {
                                /** Format: date-time */
                                at: string;
                                z: number;
                                x: number;
                                y: number;
                                message: string;
                            }[];
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                            startedAt: string | null;
                            endedAt: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a task go on
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: number;
                            layer: string;
                            /** @enum {string} */
                            type: "seed" | "reseed" | "truncate";
                            /** @enum {string} */
                            state: "pending" | "running" | "paused" | "done" | "aborted";
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesProcessed: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesTotal: number;
                            /** @description -1 while it cannot be told */
                            secondsRemaining: number;
                            tilesPerSecond: number;
                            reason: string | null;
                            /** @description The host that the task waits for; null while it has what it needs */
                            waitingFor: {
                                host: string;
                                /** Format: date-time */
                                until: string;
                                /** @enum {string} */
                                reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing";
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
                            /** @description Renews what is there and no longer fresh, and makes nothing else */
                            onlyStale: boolean;
                            threadCount: number;
                            priority: number;
                            tileFailureRetryCount: number;
                            tileFailureRetryWaitTime: number;
                            totalFailuresBeforeAborting: number;
                            counters: {
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                made: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                present: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                removed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                blank: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                failed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                upstreamRequests: number;
                            };
                            /** @description Removed to keep quotas while the task ran, of whatever layer */
                            evictedTiles?: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            evictedBytes?: number;
                            errors: {
                                /** Format: date-time */
                                at: string;
                                z: number;
                                x: number;
                                y: number;
                                message: string;
                            }[];
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                            startedAt: string | null;
                            endedAt: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a task over what failed in this one
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: number;
                            layer: string;
                            /** @enum {string} */
                            type: "seed" | "reseed" | "truncate";
                            /** @enum {string} */
                            state: "pending" | "running" | "paused" | "done" | "aborted";
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesProcessed: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tilesTotal: number;
                            /** @description -1 while it cannot be told */
                            secondsRemaining: number;
                            tilesPerSecond: number;
                            reason: string | null;
                            /** @description The host that the task waits for; null while it has what it needs */
                            waitingFor: {
                                host: string;
                                /** Format: date-time */
                                until: string;
                                /** @enum {string} */
                                reason: "quiet-hours" | "daily-budget" | "retry-after" | "failing";
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
                            /** @description Renews what is there and no longer fresh, and makes nothing else */
                            onlyStale: boolean;
                            threadCount: number;
                            priority: number;
                            tileFailureRetryCount: number;
                            tileFailureRetryWaitTime: number;
                            totalFailuresBeforeAborting: number;
                            counters: {
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                made: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                present: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                removed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                blank: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                failed: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                upstreamRequests: number;
                            };
                            /** @description Removed to keep quotas while the task ran, of whatever layer */
                            evictedTiles?: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            evictedBytes?: number;
                            errors: {
                                /** Format: date-time */
                                at: string;
                                z: number;
                                x: number;
                                y: number;
                                message: string;
                            }[];
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                            startedAt: string | null;
                            endedAt: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Changes of tasks, as they happen
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": unknown;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                                bounds: number[] | null;
                                area: unknown;
                                areaCrs: string | null;
                                threadCount: number | null;
                                priority: number | null;
                                nextRuns: string[];
                                lastRun: {
                                    /** Format: date-time */
                                    dueAt: string;
                                    /** Format: date-time */
                                    at: string;
                                    /** @enum {string} */
                                    state: "started" | "held" | "over" | "skipped" | "failed";
                                    taskId: number | null;
                                    detail: string | null;
                                } | null;
                                createdBy: string;
                                /** Format: date-time */
                                createdAt: string;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        /**
         * Make a schedule
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        layer: string;
                        /**
                         * @description What to do
                         * @default seed
                         * @enum {string}
                         */
                        type?: "seed" | "reseed" | "truncate" | "invalidate";
                        /** @description The layer's first when absent */
                        gridSet?: string;
                        /** @description The layer's first when absent */
                        format?: string;
                        /** @description The layer's first when absent */
                        zoomStart?: number;
                        /** @description The layer's last when absent or greater */
                        zoomStop?: number;
                        /** @description minX, minY, maxX, maxY in the grid set's CRS */
                        bounds?: [
                            number,
                            number,
                            number,
                            number
                        ];
                        /** @description GeoJSON: Polygon, MultiPolygon, or features of these */
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
                        /**
                         * @description What the coordinates of area are in; EPSG:4326, longitude first, when absent
                         * @enum {string}
                         */
                        areaCrs?: "EPSG:4326" | "grid-set";
                        /** @description Those left out have their defaults; all when absent */
                        parameters?: {
                            [key: string]: string;
                        };
                        /** @description Of truncate always 1 */
                        threadCount?: number;
                        /** @description Higher goes first; 0 when absent */
                        priority?: number;
                        /** @description as usual when absent or -1 */
                        tileFailureRetryCount?: number;
                        /** @description Milliseconds; as usual when absent or -1 */
                        tileFailureRetryWaitTime?: number;
                        /** @description as usual when absent or -1 */
                        totalFailuresBeforeAborting?: number;
                        /** @description Unique within the layer */
                        name: string;
                        /** @description When to run: minute, hour, day of month, month, day of week */
                        cron: string;
                        /**
                         * @description For cron and hours; an IANA name such as Europe/Berlin
                         * @default UTC
                         */
                        timeZone?: string;
                        /**
                         * @description Work is done within these hours only, e.g. 22:00-06:00; null: at any hour
                         * @default null
                         */
                        hours?: string | null;
                        /**
                         * @description What happens to a task that is not done when its hours are over
                         * @default pause
                         * @enum {string}
                         */
                        overrun?: "pause" | "stop" | "finish";
                        /** @default true */
                        enabled?: boolean;
                    };
                };
            };
            responses: {
                /** @description Done. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                            bounds: number[] | null;
                            area: unknown;
                            areaCrs: string | null;
                            threadCount: number | null;
                            priority: number | null;
                            nextRuns: string[];
                            lastRun: {
                                /** Format: date-time */
                                dueAt: string;
                                /** Format: date-time */
                                at: string;
                                /** @enum {string} */
                                state: "started" | "held" | "over" | "skipped" | "failed";
                                taskId: number | null;
                                detail: string | null;
                            } | null;
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a schedule
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                            bounds: number[] | null;
                            area: unknown;
                            areaCrs: string | null;
                            threadCount: number | null;
                            priority: number | null;
                            nextRuns: string[];
                            lastRun: {
                                /** Format: date-time */
                                dueAt: string;
                                /** Format: date-time */
                                at: string;
                                /** @enum {string} */
                                state: "started" | "held" | "over" | "skipped" | "failed";
                                taskId: number | null;
                                detail: string | null;
                            } | null;
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                        };
                    };
                };
            };
        };
        /**
         * Replace a schedule
         * @description Needs the role operator.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        layer: string;
                        /**
                         * @description What to do
                         * @default seed
                         * @enum {string}
                         */
                        type?: "seed" | "reseed" | "truncate" | "invalidate";
                        /** @description The layer's first when absent */
                        gridSet?: string;
                        /** @description The layer's first when absent */
                        format?: string;
                        /** @description The layer's first when absent */
                        zoomStart?: number;
                        /** @description The layer's last when absent or greater */
                        zoomStop?: number;
                        /** @description minX, minY, maxX, maxY in the grid set's CRS */
                        bounds?: [
                            number,
                            number,
                            number,
                            number
                        ];
                        /** @description GeoJSON: Polygon, MultiPolygon, or features of these */
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
                        /**
                         * @description What the coordinates of area are in; EPSG:4326, longitude first, when absent
                         * @enum {string}
                         */
                        areaCrs?: "EPSG:4326" | "grid-set";
                        /** @description Those left out have their defaults; all when absent */
                        parameters?: {
                            [key: string]: string;
                        };
                        /** @description Of truncate always 1 */
                        threadCount?: number;
                        /** @description Higher goes first; 0 when absent */
                        priority?: number;
                        /** @description as usual when absent or -1 */
                        tileFailureRetryCount?: number;
                        /** @description Milliseconds; as usual when absent or -1 */
                        tileFailureRetryWaitTime?: number;
                        /** @description as usual when absent or -1 */
                        totalFailuresBeforeAborting?: number;
                        /** @description Unique within the layer */
                        name: string;
                        /** @description When to run: minute, hour, day of month, month, day of week */
                        cron: string;
                        /**
                         * @description For cron and hours; an IANA name such as Europe/Berlin
                         * @default UTC
                         */
                        timeZone?: string;
                        /**
                         * @description Work is done within these hours only, e.g. 22:00-06:00; null: at any hour
                         * @default null
                         */
                        hours?: string | null;
                        /**
                         * @description What happens to a task that is not done when its hours are over
                         * @default pause
                         * @enum {string}
                         */
                        overrun?: "pause" | "stop" | "finish";
                        /** @default true */
                        enabled?: boolean;
                    };
                };
            };
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                            bounds: number[] | null;
                            area: unknown;
                            areaCrs: string | null;
                            threadCount: number | null;
                            priority: number | null;
                            nextRuns: string[];
                            lastRun: {
                                /** Format: date-time */
                                dueAt: string;
                                /** Format: date-time */
                                at: string;
                                /** @enum {string} */
                                state: "started" | "held" | "over" | "skipped" | "failed";
                                taskId: number | null;
                                detail: string | null;
                            } | null;
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                        };
                    };
                };
            };
        };
        post?: never;
        /**
         * Remove a schedule
         * @description Needs the role operator.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What became of its runs
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            runs: {
                                /** Format: date-time */
                                dueAt: string;
                                /** Format: date-time */
                                at: string;
                                /** @enum {string} */
                                state: "started" | "held" | "over" | "skipped" | "failed";
                                taskId: number | null;
                                detail: string | null;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run it now
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: date-time */
                            dueAt: string;
                            /** Format: date-time */
                            at: string;
                            /** @enum {string} */
                            state: "started" | "held" | "over" | "skipped" | "failed";
                            taskId: number | null;
                            detail: string | null;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/truncate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove a selection of tiles, or with dryRun count it
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    layer: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @description All when absent */
                        gridSets?: string[];
                        /** @description All when absent */
                        formats?: string[];
                        /** @description Every combination when absent; {} is the combination of all defaults */
                        parameters?: {
                            [key: string]: string;
                        };
                        /** @description All when absent */
                        zoomStart?: number;
                        /** @description All when absent */
                        zoomStop?: number;
                        /** @description minX, minY, maxX, maxY in the grid set's CRS */
                        bounds?: [
                            number,
                            number,
                            number,
                            number
                        ];
                        /** @description GeoJSON: Polygon, MultiPolygon, or features of these */
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
                        /**
                         * @description What the coordinates of area are in; EPSG:4326, longitude first, when absent
                         * @enum {string}
                         */
                        areaCrs?: "EPSG:4326" | "grid-set";
                        /**
                         * Format: date-time
                         * @description Tiles made before this time
                         */
                        olderThan?: string;
                        /**
                         * @description Only answers what would be removed
                         * @default false
                         */
                        dryRun?: boolean;
                    };
                };
            };
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            layer: string;
                            dryRun: boolean;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tiles: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            bytes: number;
                            tileSets: {
                                gridSet: string;
                                format: string;
                                parametersId: string | null;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                tiles: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                            }[];
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/invalidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tell that the map has changed: mark a selection of tiles as stale, or with dryRun count it
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: {
                    renew?: string;
                    dryRun?: string;
                };
                header?: never;
                path: {
                    layer: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @description All when absent */
                        gridSets?: string[];
                        /** @description All when absent */
                        formats?: string[];
                        /** @description Every combination when absent; {} is the combination of all defaults */
                        parameters?: {
                            [key: string]: string;
                        };
                        /** @description All when absent */
                        zoomStart?: number;
                        /** @description All when absent */
                        zoomStop?: number;
                        /** @description minX, minY, maxX, maxY in the grid set's CRS */
                        bounds?: [
                            number,
                            number,
                            number,
                            number
                        ];
                        /** @description GeoJSON: Polygon, MultiPolygon, or features of these */
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
                        /**
                         * @description What the coordinates of area are in; EPSG:4326, longitude first, when absent
                         * @enum {string}
                         */
                        areaCrs?: "EPSG:4326" | "grid-set";
                        /**
                         * Format: date-time
                         * @description Tiles made before this time
                         */
                        olderThan?: string;
                        /** @description z/x/y in web mercator, rows from the top; in place of area */
                        tiles?: string[];
                        /**
                         * @description Start tasks that renew what was marked
                         * @default false
                         */
                        renew?: boolean;
                        /**
                         * @description Only answers what would be marked
                         * @default false
                         */
                        dryRun?: boolean;
                    };
                    "text/plain": string;
                };
            };
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            layer: string;
                            dryRun: boolean;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tiles: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            bytes: number;
                            tileSets: {
                                gridSet: string;
                                format: string;
                                parametersId: string | null;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                tiles: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                            }[];
                            tasks: number[];
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/blank-areas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where empty pictures are right, and where they are suspect
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    layer: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                                /** Format: date-time */
                                at: string;
                                times: number;
                                /** @description The source was failing: it was neither kept nor served */
                                refused: boolean;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        /**
         * Say that empty pictures are right here
         * @description Needs the role operator.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    layer: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @description All grid sets when absent; needed with bounds and tiles */
                        gridSet?: string;
                        zoomStart?: number;
                        zoomStop?: number;
                        /** @description minX, minY, maxX, maxY in the grid set's CRS */
                        bounds?: [
                            number,
                            number,
                            number,
                            number
                        ];
                        /** @description GeoJSON: Polygon, MultiPolygon, or features of these */
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
                        /**
                         * @description What the coordinates of area are in; EPSG:4326, longitude first, when absent
                         * @enum {string}
                         */
                        areaCrs?: "EPSG:4326" | "grid-set";
                        /** @description z/x/y, rows from the top, as suspects are listed */
                        tiles?: string[];
                        /** @default  */
                        note?: string;
                    };
                };
            };
            responses: {
                /** @description Done. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/blank-areas/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take it back
         * @description Needs the role operator.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    layer: string;
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/coverage/{gridSet}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How much of a layer is cached, zoom by zoom
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Media type or extension; the layer's first when left out */
                    format?: string;
                };
                header?: never;
                path: {
                    layer: string;
                    gridSet: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            layer: string;
                            gridSet: string;
                            format: string;
                            parametersId: string | null;
                            zooms: {
                                z: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                tiles: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                offered: number;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/coverage/{gridSet}/{z}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where a layer is cached at a zoom, and how old it is there
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Media type or extension; the layer's first when left out */
                    format?: string;
                    /** @description minX,minY,maxX,maxY in the grid set's CRS; everything when left out */
                    bounds?: string;
                    /** @description age near by and share from afar when left out */
                    shows?: "age" | "share";
                };
                header?: never;
                path: {
                    layer: string;
                    gridSet: string;
                    z: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            layer: string;
                            gridSet: string;
                            format: string;
                            parametersId: string | null;
                            z: number;
                            /**
                             * @description age: 0 not there, 1 old to 5 fresh, see ageSteps, of the last change in a cell; share: the percentage that is there
                             * @enum {string}
                             */
                            shows?: "age" | "share";
                            /** @description Seconds */
                            ageSteps?: number[];
                            /** @description Tiles along a side of a cell */
                            cell: number;
                            minX?: number;
                            minY?: number;
                            columns: number;
                            rows: number;
                            /** @description Of all cells together */
                            bounds: [
                                number,
                                number,
                                number,
                                number
                            ] | null;
                            /** @description A value and how many cells have it, in turn, row by row from the top left */
                            runs: number[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All that is known of one tile
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Media type or extension; the layer's first when left out */
                    format?: string;
                };
                header?: never;
                path: {
                    layer: string;
                    gridSet: string;
                    z: string;
                    x: string;
                    y: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                checksum: string;
                                /** Format: date-time */
                                storedAt: string;
                                ageSeconds: number;
                                expiresAt: string | null;
                                expired: boolean;
                                madeBy: {
                                    /**
                                     * @description unknown: it was stored before this was noted, or by another program
                                     * @enum {string}
                                     */
                                    kind: "task" | "request" | "unknown";
                                    task: number | null;
                                    /** @description Whether /api/v1/tasks/{id} still tells of the task */
                                    inHistory: boolean;
                                };
                            } | null;
                            page: {
                                x: number;
                                y: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                hits: number;
                                lastUsedAt: string | null;
                            };
                            metatile: {
                                minX: number;
                                minY: number;
                                maxX: number;
                                maxY: number;
                            } | null;
                            /** @description Where it would be fetched, without secrets */
                            upstream: string | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The tile as it is stored; looking makes none
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Media type or extension; the layer's first when left out */
                    format?: string;
                };
                header?: never;
                path: {
                    layer: string;
                    gridSet: string;
                    z: string;
                    x: string;
                    y: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "image/*": unknown;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quota": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the quota
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        ETag?: string;
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                                /** @description A whole number; beyond 2^53 its last digits are lost */
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
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    bytes: number;
                                };
                            }[];
                        };
                    };
                };
            };
        };
        /**
         * Change the quota; only what is sent changes
         * @description Needs the role admin.
         */
        put: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The ETag that the change is based on; without it the change is made in any case */
                    "If-Match"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        enabled?: boolean;
                        diskBlockSize?: number;
                        cacheCleanUpFrequency?: number;
                        /** @enum {string} */
                        cacheCleanUpUnits?: "SECONDS" | "MINUTES" | "HOURS" | "DAYS";
                        /** @description Follows from the rest, and is passed over */
                        cleanUpSeconds?: number;
                        maxConcurrentCleanUps?: number;
                        /** @enum {string} */
                        globalExpirationPolicyName?: "LRU" | "LFU";
                        globalQuota?: {
                            value: number;
                            /** @enum {string} */
                            units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                            /** @description Follows from the rest, and is passed over */
                            bytes?: number;
                        };
                        /** @description Replaces the whole list; [] removes every layer quota */
                        layerQuotas?: {
                            layer: string;
                            /** @enum {string} */
                            expirationPolicyName: "LRU" | "LFU";
                            quota: {
                                value: number;
                                /** @enum {string} */
                                units: "B" | "KiB" | "MiB" | "GiB" | "TiB";
                                /** @description Follows from the rest, and is passed over */
                                bytes?: number;
                            };
                        }[];
                    };
                };
            };
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        ETag?: string;
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                                /** @description A whole number; beyond 2^53 its last digits are lost */
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
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    bytes: number;
                                };
                            }[];
                        };
                    };
                };
            };
        };
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the tiles take on disk
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            bytes: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            tiles: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
                            sweeping: number;
                            /** @description A whole number; beyond 2^53 its last digits are lost */
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
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
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
                                        /** @description A whole number; beyond 2^53 its last digits are lost */
                                        bytes: number;
                                    };
                                }[];
                            };
                            share: number | null;
                            /** @description Removed for quotas since the data folder was made */
                            evicted: {
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                pages: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                tiles: number;
                            };
                            growthPerDay: number | null;
                            /** @description Until the quota is used up or a disk nearly full */
                            fullInDays: number | null;
                            disks: {
                                store: string;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                freeBytes: number;
                                /** @description Of the room or the inodes, whichever is less */
                                freePercent: number;
                                /** @description Below this nothing is stored */
                                minFreePercent: number;
                                /** @description False: tiles are served but not stored, for want of room */
                                storing: boolean;
                            }[];
                            layers: {
                                name: string;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                bytes: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                tiles: number;
                                quota: number | null;
                                share: number | null;
                                /** @description Removed for quotas since the data folder was made */
                                evicted: {
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    pages: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    bytes: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    tiles: number;
                                };
                                tileSets: {
                                    gridSet: string;
                                    format: string;
                                    parametersId: string | null;
                                    /** @description Null: the defaults, or nobody knows */
                                    parameters: {
                                        [key: string]: string;
                                    } | null;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    bytes: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    tiles: number;
                                    zooms: {
                                        z: number;
                                        /** @description A whole number; beyond 2^53 its last digits are lost */
                                        bytes: number;
                                        /** @description A whole number; beyond 2^53 its last digits are lost */
                                        tiles: number;
                                    }[];
                                }[];
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/evictions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What quotas removed, hour by hour
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: {
                    days?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: date-time */
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
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List layers
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            layers: {
                                name: string;
                                title: string;
                                /** @enum {string} */
                                access: "public" | "authenticated" | "viewer" | "operator" | "admin";
                                gridSets: string[];
                                formats: string[];
                                /** @description When its tiles were last stored or removed, as far as is known */
                                changedAt: string | null;
                                /** @description Times that tiles could not be made or kept, in the last day */
                                failures: number;
                                /** @description The last one since the server started */
                                lastFailure: {
                                    /** Format: date-time */
                                    at: string;
                                    reason: string;
                                    message: string;
                                } | null;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/layers/{layer}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a layer
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    layer: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            name: string;
                            title: string;
                            description: string;
                            /** @enum {string} */
                            access: "public" | "authenticated" | "viewer" | "operator" | "admin";
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
                                /** @description Top left corners, one for each zoom */
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
                                /** @description null: many */
                                values: string[] | null;
                            }[];
                            metatile: [
                                number,
                                number
                            ];
                            gutter: number;
                            expireCacheSeconds: number | null;
                            /** @description By rising zoom; goes before the number beside it */
                            expireCacheByZoom: {
                                minZoom: number;
                                seconds: number;
                            }[];
                            expireClientsSeconds: number;
                            /** @description By rising zoom; goes before the number beside it */
                            expireClientsByZoom: {
                                minZoom: number;
                                seconds: number;
                            }[];
                            /** @description When its tiles were last stored or removed, as far as is known */
                            changedAt: string | null;
                            /** @description Times that tiles could not be made or kept, in the last day */
                            failures: number;
                            /** @description The last one since the server started */
                            lastFailure: {
                                /** Format: date-time */
                                at: string;
                                reason: string;
                                message: string;
                            } | null;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/gridsets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the grid sets that layers use
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    columns: number;
                                    /** @description A whole number; beyond 2^53 its last digits are lost */
                                    rows: number;
                                }[];
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How tiles were answered in the last day
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: date-time */
                            from: string;
                            stepSeconds: number;
                            hits: number[];
                            misses: number[];
                            stale: number[];
                            bypassed: number[];
                            failed: number[];
                            bytes: number[];
                            /** @description Of all misses of the step together */
                            missMilliseconds: number[];
                            evictedTiles: number[];
                            evictedBytes: number[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/about": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is running here
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            version: string;
                            node: string;
                            /** Format: date-time */
                            startedAt: string;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upstreams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How it goes with each host that sources speak to
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
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
                                /** @description Requests at once that the host seems to bear now */
                                concurrency: number;
                                requestsPerSecond: number;
                                budget: {
                                    day: string;
                                    used: number;
                                    limit: number;
                                } | null;
                                /** @description Milliseconds */
                                latency: {
                                    p50: number;
                                    p95: number;
                                } | null;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                requests: number;
                                /** @description A whole number; beyond 2^53 its last digits are lost */
                                refused: number;
                                errors: {
                                    [key: string]: number;
                                };
                                /** @enum {string} */
                                breaker: "closed" | "open" | "half-open";
                                /** @description What the host itself asked for */
                                retryAfter: string | null;
                                /** @description When tasks may ask it again; null: now */
                                waitingUntil: string | null;
                                waitingReason: ("quiet-hours" | "daily-budget" | "retry-after" | "failing") | null;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List users
         * @description Needs the role admin.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            users: {
                                name: string;
                                /** @enum {string} */
                                role: "viewer" | "operator" | "admin";
                                layers: string[];
                                passwordIsInitial: boolean;
                                /** Format: date-time */
                                createdAt: string;
                                /** Format: date-time */
                                changedAt: string;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        /**
         * Add a user
         * @description Needs the role admin.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
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
                };
            };
            responses: {
                /** @description Done. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            name: string;
                            /** @enum {string} */
                            role: "viewer" | "operator" | "admin";
                            layers: string[];
                            passwordIsInitial: boolean;
                            /** Format: date-time */
                            createdAt: string;
                            /** Format: date-time */
                            changedAt: string;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a user
         * @description Needs the role admin.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            name: string;
                            /** @enum {string} */
                            role: "viewer" | "operator" | "admin";
                            layers: string[];
                            passwordIsInitial: boolean;
                            /** Format: date-time */
                            createdAt: string;
                            /** Format: date-time */
                            changedAt: string;
                        };
                    };
                };
            };
        };
        /**
         * Change a user
         * @description Needs the role admin.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        password?: string;
                        /** @enum {string} */
                        role?: "viewer" | "operator" | "admin";
                        layers?: string[];
                    };
                };
            };
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            name: string;
                            /** @enum {string} */
                            role: "viewer" | "operator" | "admin";
                            layers: string[];
                            passwordIsInitial: boolean;
                            /** Format: date-time */
                            createdAt: string;
                            /** Format: date-time */
                            changedAt: string;
                        };
                    };
                };
            };
        };
        post?: never;
        /**
         * Remove a user
         * @description Needs the role admin.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tokens
         * @description Needs the role admin.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tokens: {
                                id: number;
                                name: string;
                                /** @enum {string} */
                                role: "viewer" | "operator" | "admin";
                                layers: string[];
                                createdBy: string;
                                /** Format: date-time */
                                createdAt: string;
                                expiresAt: string | null;
                                lastUsedAt: string | null;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        /**
         * Make a token; it is shown this once
         * @description Needs the role admin.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
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
                };
            };
            responses: {
                /** @description Done. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: number;
                            name: string;
                            /** @enum {string} */
                            role: "viewer" | "operator" | "admin";
                            layers: string[];
                            createdBy: string;
                            /** Format: date-time */
                            createdAt: string;
                            expiresAt: string | null;
                            lastUsedAt: string | null;
                            token: string;
                        };
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description Needs the role admin.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who is asking
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            name: string;
                            /** @enum {string} */
                            role: "viewer" | "operator" | "admin";
                            layers: string[];
                            /** @enum {string} */
                            via: "password" | "session" | "token" | "machine";
                            passwordIsInitial: boolean;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change one's own password
         * @description Needs the role viewer.
         */
        put: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        current: string;
                        password: string;
                    };
                };
            };
            responses: {
                /** @description Done. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in
         * @description Open to anybody.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                        password: string;
                    };
                };
            };
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            name: string;
                            /** @enum {string} */
                            role: "viewer" | "operator" | "admin";
                            layers: string[];
                        };
                    };
                };
            };
        };
        /**
         * Log out
         * @description Needs the role viewer.
         */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who changed what
         * @description Needs the role admin.
         */
        get: {
            parameters: {
                query?: {
                    actor?: string;
                    source?: string;
                    text?: string;
                    target?: string;
                    outcome?: string;
                    since?: string;
                    until?: string;
                    limit?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            entries: {
                                /** Format: date-time */
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
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This document
         * @description Needs the role viewer.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Done. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": unknown;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: never;
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
