// Builds the gallery page into the folder given (default: a temporary one) and prints the page's path.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "headwidgets-gallery-"));
await build({
  configFile: false,
  root,
  logLevel: "error",
  publicDir: false,
  build: {
    target: "es2022",
    outDir: folder,
    minify: false,
    lib: {
      entry: join(root, "testing", "gallery.ts"),
      formats: ["iife"],
      name: "gallery",
      fileName: () => "gallery.js",
    },
  },
});
const css = readFileSync(join(root, "theme", "index.css"), "utf8");
const page = join(folder, "gallery.html");
writeFileSync(
  page,
  `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>headwidgets</title><style>body{margin:12px}${css}</style><body><script src="gallery.js"></script>`,
);
console.log(page);
