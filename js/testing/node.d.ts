/** The few names of Node that tests use; product code gets none (tsconfig: `types: []`). */
declare module "node:zlib" {
  export function inflateSync(data: Uint8Array): Uint8Array;
}
declare module "node:fs" {
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
  export function readFileSync(path: string | URL): Uint8Array<ArrayBuffer>;
  export function readdirSync(path: string | URL): string[];
  export function existsSync(path: string | URL): boolean;
}
