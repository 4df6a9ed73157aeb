import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["js/**/*.test.ts"],
    environment: "node", // files that need a DOM say `@vitest-environment happy-dom` in their first line
    pool: "threads",
    maxWorkers: 2,
  },
});
