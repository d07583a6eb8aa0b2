/** Photos that were answered with "none of these", grouped by likeness: "Name these?" */

import { button, during, find, keyed, make, say } from "./dom.js";
import { service, watch } from "./service.js";
import { counted } from "./words.js";

let refresh = () => {};

export function startTray(afterChange) {
  refresh = afterChange;
  find("tray").before(make("datalist", { id: "known-names" }));
  watch(show);
}

function show({ tray, classes, loaded, signedIn }) {
  const number = tray.groups.reduce((sum, group) => sum + group.length, 0);
  find("tray-count").textContent = number > 99 ? "99+" : String(number || "");
  find("tray-count").hidden = !number;
  find("tray-count").parentElement.setAttribute("aria-label", number ? `Unknown: ${counted(number, "photo")} to name` : "Unknown");
  find("unknown-lead").textContent = !loaded ? "" : number
    ? `${counted(number, "photo")} it could not name, those that look alike together. Give them a name, and it learns them.`
    : "";
  const names = JSON.stringify(classes.map((one) => one.name));
  if (find("known-names").dataset.names !== names) find("known-names").replaceChildren(...classes.map((one) => make("option", { value: one.name })));
  find("known-names").dataset.names = names;
  const items = loaded && !number ? [{ key: `empty ${tray.on}`, photos: [] }] : tray.groups.map((photos) => ({ key: `${signedIn} ${photos.join(" ")}`, photos }));
  keyed(find("tray"), items, (one) => one.key, (one) => (one.photos.length ? group(one.photos, signedIn) : nothing(tray.on)));
}

function nothing(on) {
  const words = on
    ? ["Nothing to name.", "Photos that are answered with “none of these” wait here, so that you can name them later."]
    : ["Unknown photos are not kept.", "Start the service with --tray 200 to keep the last 200 photos it could not name, and name them here."];
  return { node: make("div", { class: "card empty" }, make("h3", { text: words[0] }), make("p", { class: "muted", text: words[1] })) };
}

function group(photos, signedIn) {
  const boxes = photos.map((photo, place) => make("input", { type: "checkbox", checked: true, value: photo, "aria-label": `Photo ${place + 1} of ${photos.length}`, onchange: () => label() }));
  const list = make("ul", { class: "thumbs" }, ...photos.map((photo, place) =>
    make("li", {}, make("label", {}, signedIn && photos.length > 1 && boxes[place], make("img", { src: photo, alt: "", loading: "lazy", width: 120, height: 120 })))));
  const input = make("input", { type: "text", maxlength: 100, list: "known-names", placeholder: "Name", "aria-label": "What is this?", autocomplete: "off", autocapitalize: "off" });
  const save = make("button", { type: "submit", class: "primary" });
  const problem = make("p", { class: "error", role: "alert", hidden: true });
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const label = () => { save.textContent = chosen().length < photos.length ? `Learn ${chosen().length} of ${photos.length}` : "Learn"; };
  label();
  const form = make("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); teach(); } }, input, save,
    button("Throw away", (event) => away(event.currentTarget), { class: "quiet" }));
  const name = () => input.value.trim().replace(/\s+/g, " ");
  async function teach() {
    if (!name() || !chosen().length) { input.setAttribute("aria-invalid", "true"); input.focus(); return; }
    const done = await during(save, problem, async () => { await service.nameUnknown(name(), chosen()); return true; });
    if (done) await gone(`${counted(chosen().length, "photo")} are learned as ${name()}.`);
  }
  async function away(pressed) {
    const done = await during(pressed, problem, async () => { await service.clearTray(chosen()); return true; });
    if (done) await gone(`${counted(chosen().length, "photo")} thrown away.`);
  }
  return { node: make("div", { class: "card group" }, make("h2", { text: photos.length > 1 ? `${photos.length} photos that look alike` : "One photo" }), list, signedIn ? form : "", problem) };
}

async function gone(words) {
  say(words);
  await refresh();
  (find("tray").querySelector("input[type=text]") ?? find("unknown-title")).focus();
}
