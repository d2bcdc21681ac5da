export const ROLES = ['viewer', 'operator', 'admin'] as const;
/** Each role may do what the ones before it may: look; seed, stop and truncate; everything. */
export type Role = (typeof ROLES)[number];

export function roleSuffices(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}
