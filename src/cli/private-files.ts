/** Passwords and tokens lie hashed in the data folder: nobody but its owner and group reads what we write. */
export const PRIVATE_FILES = 0o027;
