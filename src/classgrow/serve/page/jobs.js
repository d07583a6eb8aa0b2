/** What is being learned: a queue, one at a time; then accuracy before and after, and keep or discard. */

import { bar, button, during, fill, find, keyed, make, say, tell } from "./dom.js";
import { service, state, watch } from "./service.js";
import { counted, GOOD, percent, shortList, timeLeft } from "./words.js";

const putAway = new Set();
const told = new Map();
let refresh = () => {};

export function startJobs(afterDecision) {
  refresh = afterDecision;
  watch(show);
}

const isOpen = (job) => ["waiting", "learning", "ready"].includes(job.state);
const started = Date.now() / 1000;
/** Those that go on, and what ended while this page was open, until it is put away. */
const isShown = (job) => !putAway.has(job.id) && (isOpen(job) || (told.has(job.id) || job.created > started) || job.state === "failed");

export const areOpen = () => state.jobs.some(isOpen);

const names = (job) => shortList(Object.keys(job.photos ?? {})) || "photos";
const amount = (job) => counted(Object.values(job.photos ?? {}).reduce((sum, one) => sum + one, 0), "photo");

function show({ jobs }) {
  for (const job of jobs) announce(job);
  const order = { ready: 0, learning: 1, waiting: 3, failed: 2 };
  const shown = jobs.filter(isShown).sort((a, b) => (order[a.state] ?? 4) - (order[b.state] ?? 4) || a.created - b.created);
  find("jobs-block").hidden = !shown.length;
  keyed(find("jobs"), shown, (job) => `${job.id} ${job.state} ${state.signedIn}`, card);
  showWorking(jobs);
}

function announce(job) {
  const before = told.get(job.id);
  if (isOpen(job)) told.set(job.id, job.state);
  if (before === undefined || before === job.state) return;
  told.set(job.id, job.state);
  if (job.state === "ready" && job.keep === "ask") say(`${names(job)} has been learned. Keep it or discard it.`);
  if (job.state === "failed") say(`${names(job)} could not be learned.`);
}

/** A strip on the other parts of the page. */
function showWorking(jobs) {
  const strip = find("working");
  const job = jobs.find((one) => one.state === "ready" && one.keep === "ask") ?? jobs.find((one) => one.state === "learning");
  strip.hidden = !job || location.hash === "#teach";
  if (!job) return;
  const text = job.state === "ready" ? `${names(job)}: learned. Look and keep or discard it →` : `Learning ${names(job)} … ${timeLeft(job.seconds_left)}`;
  if (strip.dataset.text !== text) strip.replaceChildren(make("span", { text }));
  strip.dataset.text = text;
}

export const showStrip = () => showWorking(state.jobs);

/** Bring the queue into view. */
export function showQueue() {
  find("jobs-title").focus({ preventScroll: true });
  find("jobs-block").scrollIntoView({ block: "start" });
}

function card(job) {
  const problem = make("p", { class: "error", role: "alert", hidden: true });
  const inside = { waiting, learning, ready, failed, kept, discarded }[job.state] ?? waiting;
  return inside(job, problem);
}

const head = (title, detail) => {
  const words = make("span", { class: "small muted", text: detail });
  return { words, node: make("div", { class: "head" }, make("h3", { text: title }), words) };
};

function waiting(job, problem) {
  const top = head(names(job), "");
  const drop = button("Remove", (event) => decide(event.currentTarget, problem, () => service.discard(job.id)), { class: "quiet", "aria-label": `Do not learn ${names(job)}` });
  const reason = make("p", { class: "small muted" });
  const node = make("li", { class: "card job slim" }, make("div", { class: "row between" }, top.node, state.signedIn && drop), reason, problem);
  return { node, update(one) {
    const queue = state.jobs.filter((other) => other.state === "waiting").sort((a, b) => a.created - b.created);
    const ahead = queue.findIndex((other) => other.id === one.id);
    const open = state.jobs.find((other) => other.state === "ready" && other.keep === "ask");
    top.words.textContent = `${amount(one)} · waits, ${ahead ? `${ahead} before it` : "next"}`;
    tell(reason, open && !ahead ? `It begins once you have kept or discarded ${names(open)}.` : one.notes?.[0]);
  } };
}

/** Time left where it is known, else the time so far. */
function howFar(job, seconds) {
  if (job.seconds_left !== null && job.seconds_left !== undefined) return `${percent(job.done)} done, ${timeLeft(job.seconds_left)}`;
  const stage = job.done > 0.1 ? `${percent(job.done)} done` : "Starting, and reading the photos";
  return seconds > 2 ? `${stage} · ${seconds} s so far` : `${stage} …`;
}

function learning(job, problem) {
  const began = Date.now();
  const top = head(`Learning ${names(job)} …`, amount(job));
  const line = bar(0);
  const left = make("span", { class: "small muted" });
  const progress = make("div", { role: "progressbar", "aria-label": `Learning ${names(job)}`, "aria-valuemin": 0, "aria-valuemax": 100 }, line);
  const stop = button("Stop", (event) => decide(event.currentTarget, problem, () => service.discard(job.id)), { class: "quiet" });
  const node = make("li", { class: "card job" }, top.node, progress, make("div", { class: "row between" }, left, state.signedIn && stop), make("p", { class: "small muted", text: "Asking goes on meanwhile, and you can prepare the next class below." }), problem);
  return { node, update(one) {
    fill(line, Math.max(0.02, one.done));
    progress.setAttribute("aria-valuenow", Math.round(one.done * 100));
    left.textContent = howFar(one, Math.round((Date.now() - began) / 1000));
  } };
}

function ready(job, problem) {
  if (job.keep === "now") return { node: make("li", { class: "card job" }, head(`${names(job)}: learned`, "is being taken in").node) };
  const top = head(`Keep ${names(job)}?`, `learned from ${amount(job)}`);
  const keep = button("Keep", (event) => decide(event.currentTarget, problem, () => service.keep(job.id), `${names(job)} is kept.`), { class: "primary" });
  const discard = button("Discard", (event) => decide(event.currentTarget, problem, () => service.discard(job.id), `${names(job)} is discarded.`));
  const node = make("li", { class: "card job ready" }, top.node, verdict(job), comparison(job), rough(job), ...notes(job), problem,
    state.signedIn && make("div", { class: "row" }, keep, discard),
    make("p", { class: "small muted", text: "Until you keep it, the service answers as before. History can undo what was kept." }));
  return { node };
}

const mean = (values) => (values.length ? values.reduce((sum, one) => sum + one, 0) / values.length : null);

function verdict(job) {
  const old = Object.keys(job.before).filter((name) => job.after[name] !== undefined);
  if (!Object.keys(job.after).length) return make("p", { text: "Accuracy cannot be measured from so few photos. Try it on photos of your own after keeping it." });
  if (Object.keys(job.after).length === 1) return make("p", { text: "It can be told from nothing else yet, so its accuracy says little: teach a second class next." });
  if (!old.length) return make("p", { text: "This is how often each class is told right, measured on photos it was not fitted to." });
  const change = mean(old.map((name) => job.after[name])) - mean(old.map((name) => job.before[name]));
  const text = change <= -0.05 ? `The classes it knew before became worse by ${percent(-change)}. More photos may help; or discard it.`
    : change < -0.005 ? `The classes it knew before lost a little (${percent(-change)}).` : "The classes it knew before are as good as they were.";
  return make("p", { text });
}

function comparison(job) {
  const every = Object.keys(job.after);
  if (every.length < 2) return "";
  const row = (name, before, after) => {
    const change = before === null || after === null || before === undefined ? "new" : difference(after - before);
    const kind = change.startsWith("−") ? "worse" : change.startsWith("+") ? "better" : null;
    return make("tr", {}, make("th", { scope: "row", text: name, title: name }), make("td", { text: change === "new" ? "–" : percent(before) }), make("td", { text: percent(after) }), make("td", { text: change, class: kind }));
  };
  const means = [mean(Object.values(job.before)), mean(Object.values(job.after))];
  const titles = ["Class", "Before", "After", "Change"].map((text) => make("th", { scope: "col", text }));
  const bodies = [make("tbody", {}, ...every.map((name) => row(name, job.before[name], job.after[name])))];
  if (every.length > 1) bodies.push(make("tbody", {}, row("All classes", means[0], means[1])));
  return make("table", { class: "compare" }, make("caption", { class: "unseen", text: "Accuracy before and after" }), make("thead", {}, make("tr", {}, ...titles)), ...bodies);
}

/** How much the numbers say. */
function rough(job) {
  if (Object.keys(job.after).length < 2) return "";
  const fewest = Math.min(...Object.values(job.photos));
  return fewest < GOOD && make("p", { class: "small muted", text: `Measured on the ${counted(fewest, "photo")} you gave, so only a rough number. With other photos it may be lower.` });
}

function difference(change) {
  const points = Math.round(change * 100);
  return points ? `${points > 0 ? "+" : "−"}${Math.abs(points)}` : "same";
}

const notes = (job) => (job.notes ?? []).map((text) => make("p", { class: "small muted", text }));

function over(job, title, detail, ...more) {
  const away = button("Dismiss", () => { putAway.add(job.id); show(state); find("teach-title").focus(); }, { class: "quiet", "aria-label": `Dismiss: ${title}` });
  return { node: make("li", { class: "card job slim" }, make("div", { class: "row between" }, head(title, detail).node, make("div", { class: "row" }, ...more.splice(0, 1), away)), ...more) };
}

function kept(job) {
  const another = button("Teach another", () => { putAway.add(job.id); show(state); find("teach-name").focus(); });
  const built = over(job, `${names(job)} is learned`, `${amount(job)} · kept`, make("a", { href: "#ask", class: "button", text: "Try it" }));
  if (state.signedIn) built.node.querySelector("button").replaceWith(another);
  return built;
}

const discarded = (job) => over(job, `${names(job)} is discarded`, "nothing was changed", "");

const failed = (job) => over(job, `${names(job)} could not be learned`, amount(job), "",
  make("p", { class: "error", text: job.error ?? "The reason is in the log of the service." }),
  make("p", { class: "small muted", text: "The model is as it was. Add the photos again to try once more." }));

async function decide(pressed, problem, action, words) {
  const done = await during(pressed, problem, action);
  if (!done) return;
  say(done.state === "waiting" ? "The model has changed meanwhile: it is learned again." : words ?? "");
  await refresh();
  const next = find("jobs").querySelector("a, button") ?? find("teach-title");
  next.focus();
}
