// Replays a flow of Chrome's DevTools Recorder with @puppeteer/replay, and prints the seconds it took as JSON.
// Run: node replay_flow.mjs FLOW URL BROWSER, in a folder whose node_modules has @puppeteer/replay and puppeteer.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const { createRunner, parse, PuppeteerRunnerExtension } = await load("@puppeteer/replay");
const { default: puppeteer } = await load("puppeteer");

const [flowPath, url, executablePath] = process.argv.slice(2);
const flow = parse(JSON.parse(readFileSync(flowPath, "utf8").replaceAll("{url}", url)));
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await puppeteer.launch({ executablePath, headless: "shell", args });
try {
  const page = await browser.newPage();
  const answers = flow.title.includes("coupon") ? [undefined, "SAVE10"] : [];
  page.on("dialog", (dialog) => {
    const text = answers.shift();
    return text === undefined ? dialog.dismiss() : dialog.accept(text);
  });
  const begin = performance.now();
  await (await createRunner(flow, new PuppeteerRunnerExtension(browser, page, { timeout: 15000 }))).run();
  process.stdout.write(JSON.stringify({ wall_s: (performance.now() - begin) / 1000 }));
} finally {
  await browser.close();
}
