/** The page: its parts, what is fetched when, and where dropped photos go. */

import { askFiles, onNewClass, startAsk } from "./ask.js";
import { startClasses } from "./classes.js";
import { find } from "./dom.js";
import { startHistory } from "./history.js";
import { areOpen, showQueue, showStrip, startJobs } from "./jobs.js";
import { listen } from "./photos.js";
import { change, service, state, watch } from "./service.js";
import { startSession } from "./session.js";
import { prepareTeaching, startTeach, teachFiles } from "./teach.js";
import { startTray } from "./tray.js";

const VIEWS = ["ask", "teach", "classes", "unknown", "history"];
const OFTEN_MS = 1000;
const SELDOM_MS = 8000;
let timer = null;
let shown = "";

const view = () => (VIEWS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "ask");

function showView() {
  const now = view();
  for (const one of VIEWS) find(`view-${one}`).hidden = one !== now;
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.hash === `#${now}`) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const title = find(`${now}-title`);
  document.title = `${title.textContent} – ${state.model || "classgrow"}`;
  if (shown && shown !== now) { scrollTo(0, 0); title.focus(); }
  shown = now;
  showStrip();
  if (state.loaded) refresh();
}

export function go(part) {
  location.hash = part;
  showView(); // at once, so that focus can go there
}

/** Ask for everything that is shown. Two at the same time are one. */
let asking = null;
let again = false;
function refresh() {
  if (asking) { again = true; return asking; }
  asking = fetchAll().finally(() => {
    asking = null;
    if (again) { again = false; refresh(); } else plan();
  });
  return asking;
}

let version = null;
let trayChanged = true;
async function fetchAll() {
  try {
    const who = await service.about();
    if (!who.mayRead && !who.signedIn) { change({ ...who, loaded: false }); return; }
    const [jobs, known] = await Promise.all([service.jobs(), service.classes()]);
    const part = { ...who, jobs, ...known };
    if (view() === "history" || version !== known.version) part.history = await service.history();
    if (view() === "unknown" || version !== known.version || trayChanged) { trayChanged = false; part.tray = await service.tray(); }
    const first = !state.loaded;
    version = known.version;
    change({ ...part, loaded: true });
    if (first && !state.classes.length && state.signedIn && !location.hash) go("teach");
  } catch (problem) {
    if (!problem.sentence) throw problem;
  } finally {
    document.body.dataset.asked = "yes";
  }
}

function plan() {
  clearTimeout(timer);
  const soon = areOpen() || !state.online;
  timer = setTimeout(() => (document.hidden ? plan() : refresh()), soon ? OFTEN_MS : SELDOM_MS);
}

watch(({ online, model }) => {
  find("offline").hidden = online;
  if (model) find("model-name").textContent = model;
});
find("offline-retry").addEventListener("click", refresh);
addEventListener("online", refresh);
addEventListener("hashchange", showView);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

startSession(refresh);
startAsk(refresh, () => { trayChanged = true; refresh(); });
onNewClass((photo) => { go("teach"); prepareTeaching({ called: "", photo }); });
startTeach(async () => { await refresh(); showQueue(); });
startJobs(refresh);
startClasses(refresh, (name) => { go("teach"); prepareTeaching({ called: name }); });
startTray(refresh);
startHistory(refresh);
const areas = { ask: ["ask-drop", askFiles], teach: ["teach-drop", teachFiles] };
listen(() => areas[view()] && find(areas[view()][0]), (files) => areas[view()][1](files));
find("ask-teach-first").addEventListener("click", () => { go("teach"); prepareTeaching(); });
showView();
refresh();
