/** The classes by phase, with their photos and accuracy: rename, forget, teach more. */

import { button, during, find, keyed, make, say, showProblem } from "./dom.js";
import { service, state, watch } from "./service.js";
import { counted, percent, START, when } from "./words.js";

let refresh = () => {};
let teachMore = () => {};

export function startClasses(afterChange, teach) {
  refresh = afterChange;
  teachMore = teach;
  watch(show);
}

function show({ classes, loaded, signedIn }) {
  const alone = classes.length === 1;
  const measured = alone ? [] : classes.map((one) => one.accuracy).filter((one) => one !== null && one !== undefined);
  const mean = measured.length ? measured.reduce((sum, one) => sum + one, 0) / measured.length : null;
  find("classes-lead").textContent = !loaded ? "" : !classes.length ? "" :
    `${counted(classes.length, "class", "classes")}${mean === null ? "" : `, right for ${percent(mean)} of the photos it was measured on`}.`;
  const phases = [...new Set(classes.map((one) => one.phase))];
  const empty = loaded && !classes.length ? [{ phase: "none" }] : [];
  keyed(find("classes"), [...empty, ...phases.map((phase) => ({ phase }))], (one) => one.phase, ({ phase }) => (phase === "none" ? nothing() : group(phase)));
  for (const phase of phases) {
    const mine = classes.filter((one) => one.phase === phase);
    keyed(find("classes").known.get(phase).list, mine, (one) => JSON.stringify([one, signedIn, alone]), card);
  }
}

/** When the first class of a phase was learned, as history has it. */
function began(phase) {
  const names = state.classes.filter((one) => one.phase === phase).map((one) => one.name);
  return state.history.find((version) => version.classes.some((name) => names.includes(name)))?.when;
}

function nothing() {
  const link = button("Teach a first class", () => teachMore(""), { class: "primary" });
  return { node: make("div", { class: "card empty" }, make("p", { text: "No classes yet." }), link) };
}

function group(phase) {
  const list = make("ul", { class: "classes" });
  const title = make("h2");
  const update = () => { title.textContent = [`Phase ${phase}`, when(began(phase))].filter(Boolean).join(" · "); };
  return { node: make("section", { class: "phase" }, title, list), list, update };
}

function card(one) {
  const doubt = one.photos < START ? ", few: add more" : "";
  const right = state.classes.length === 1 ? "nothing to confuse it with yet" : one.accuracy === null || one.accuracy === undefined ? "accuracy not known" : `right for ${percent(one.accuracy)}`;
  const problem = make("p", { class: "error", role: "alert", hidden: true });
  const title = make("div", {}, make("h3", { text: one.name }), make("p", { class: "small muted", text: `${counted(one.photos, "photo")}${doubt} · ${right}` }));
  const actions = make("div", { class: "row" },
    button("Add photos", () => teachMore(one.name), { class: "quiet", "aria-label": `Add photos to ${one.name}` }),
    button("Rename", () => rename(one, title, actions, problem), { class: "quiet", "aria-label": `Rename ${one.name}` }),
    button("Forget", () => forget(one), { class: "quiet danger", "aria-label": `Forget ${one.name}` }));
  const photos = one.examples.slice(0, 8).map((photo) => make("img", { src: photo, alt: "", loading: "lazy", width: 96, height: 96 }));
  const strip = make("div", { class: "strip", role: "img", "aria-label": `Photos of ${one.name}` }, ...photos);
  return { node: make("li", { class: "card class" }, make("div", { class: "head" }, title, state.signedIn ? actions : null), photos.length ? strip : null, problem) };
}

function rename(one, title, actions, problem) {
  const input = make("input", { type: "text", maxlength: 100, value: one.name, "aria-label": `New name of ${one.name}`, autocomplete: "off", autocapitalize: "off" });
  const save = make("button", { type: "submit", class: "primary", text: "Rename" });
  const close = () => { form.replaceWith(title); actions.hidden = false; problem.hidden = true; actions.children[1].focus(); };
  const form = make("form", { class: "inline", onsubmit: async (event) => {
    event.preventDefault();
    const to = input.value.trim().replace(/\s+/g, " ");
    if (!to || to === one.name) { close(); return; }
    const done = await during(save, problem, async () => { await service.rename(one.name, to); return true; });
    if (!done) return;
    say(`${one.name} is now called ${to}.`);
    await refresh();
    find("classes-title").focus();
  } }, input, save, button("Cancel", close));
  form.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  title.replaceWith(form);
  actions.hidden = true;
  input.focus();
  input.select();
}

const sure = find("sure");

/** Asked once more, with what it means. */
function forget(one) {
  find("sure-title").textContent = `Forget ${one.name}?`;
  find("sure-words").textContent = `Its ${counted(one.photos, "photo")}, what was computed from them, and its name are removed, here and in all earlier versions. ` +
    "This cannot be undone: to have it again, you would teach it anew. The other classes stay.";
  const problem = find("sure-error");
  problem.hidden = true;
  find("sure-yes").onclick = async (event) => {
    const done = await during(event.currentTarget, problem, async () => { await service.forget(one.name); return true; });
    if (!done) return;
    sure.close();
    say(`${one.name} is forgotten.`);
    await refresh();
    find("classes-title").focus();
  };
  find("sure-no").onclick = () => sure.close();
  sure.showModal();
  find("sure-no").focus();
}
