// Builds every bundle that ships in headwidgets/static: each file in hosts/anywidget as an ES module, the figure and
// each file in hosts/page as scripts. One vite build per entry, so that no two bundles can share a chunk: a
// widget's module is loaded from a blob URL and may import nothing.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = dirname(fileURLToPath(import.meta.url));
const outDir = join(root, "..", "headwidgets", "static");
const LIMIT = 100_000;
// The dashboard's page carries four components; the figure draws every document, and never travels.
const LIMITS = { "page-dashboard": 150_000, figure: 200_000 };

const sources = (folder) =>
  readdirSync(join(root, "hosts", folder))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => file.slice(0, -3));
const widgets = sources("anywidget").map((name) => ({
  name,
  entry: join(root, "hosts", "anywidget", `${name}.ts`),
  format: "es",
}));
const pages = sources("page").map((name) => ({
  name: `page-${name}`,
  entry: join(root, "hosts", "page", `${name}.ts`),
  format: "iife",
}));
const scripts = [{ name: "figure", entry: join(root, "hosts", "figure.ts"), format: "iife" }, ...pages];

const table = [];
for (const [position, { name, entry, format }] of [...widgets, ...scripts].entries()) {
  const results = await build({
    configFile: false,
    root,
    logLevel: "warn",
    publicDir: false,
    build: {
      target: "es2022",
      outDir,
      emptyOutDir: position === 0,
      minify: "oxc",
      reportCompressedSize: false,
      // Vite keeps the white space of ES libraries, for bundlers that come after; nothing comes after this one.
      rolldownOptions: { output: { minify: true } },
      lib: {
        entry,
        formats: [format],
        name: `headwidgets_${name.replaceAll("-", "_")}`,
        fileName: () => `${name}.js`,
      },
    },
  });
  const output = results.flatMap((result) => result.output);
  const [chunk, ...others] = output.filter((file) => file.type === "chunk");
  const imported = [...chunk.imports, ...chunk.dynamicImports];
  if (others.length > 0 || imported.length > 0)
    throw new Error(
      `${name}: one file without imports was expected, got ${1 + others.length} and [${imported}]`,
    );
  const strays = output.filter((file) => file.type === "asset").map((file) => file.fileName);
  if (strays.length > 0) throw new Error(`${name}: a bundle has no assets beside it, got ${strays}`);
  const code = readFileSync(join(outDir, `${name}.js`));
  const limit = LIMITS[name] ?? LIMIT;
  if (code.length >= limit) throw new Error(`${name}: ${code.length} bytes; it has to stay below ${limit}`);
  const hosts = [...new Set(code.toString().match(/\bhttps?:\/\/[\w.-]+/g) ?? [])].filter(
    (host) => !/^https?:\/\/www\.w3\.org$/.test(host),
  );
  if (hosts.length > 0) throw new Error(`${name}: a bundle names no host but w3.org, got ${hosts}`);
  table.push({ bundle: `${name}.js`, format, bytes: code.length, gzip: gzipSync(code).length });
}

const css = readFileSync(join(root, "theme", "index.css"), "utf8")
  .replaceAll(/\/\*[\s\S]*?\*\//g, "")
  .replaceAll(/\s*\n\s*/g, "\n")
  .trim();
writeFileSync(join(outDir, "widgets.css"), `${css}\n`);
const { version } = JSON.parse(readFileSync(join(root, "..", "package.json"), "utf8"));
writeFileSync(join(outDir, "built.json"), `${JSON.stringify({ version })}\n`);
table.push({ bundle: "widgets.css", format: "css", bytes: css.length + 1, gzip: gzipSync(css).length });
console.table(table);
