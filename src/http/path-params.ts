/** What of a path stood where its route's pattern has names. */
export type PathParams = Readonly<Record<string, string>>;
