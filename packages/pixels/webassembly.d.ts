/** The part of Node.js's WebAssembly that is used here: TypeScript declares it only with the browser types. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    readonly exports: Readonly<Record<string, unknown>>;
    constructor(module: Module);
  }
  interface Global {
    readonly value: number;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
}
