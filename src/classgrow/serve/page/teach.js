/** Teach: a name, photos, and how many are enough. What is prepared here stays until the service has taken it. */

import { button, during, fill, find, keyed, make, say, tell } from "./dom.js";
import { choose, prepare, release } from "./photos.js";
import { openCamera } from "./camera.js";
import { service, state, watch } from "./service.js";
import { counted, enough, GOOD } from "./words.js";

const MOST = 200;
const name = find("teach-name");
const problem = find("teach-error");
let photos = [];
let afterTeaching = () => {};

export function startTeach(after) {
  afterTeaching = after;
  find("teach-choose").addEventListener("click", () => choose(teachFiles));
  find("teach-camera").addEventListener("click", () => openCamera(teachPhoto, { several: true }));
  name.addEventListener("input", show);
  find("teach-form").addEventListener("submit", (event) => { event.preventDefault(); learn(); });
  addEventListener("beforeunload", (event) => { if (photos.length) event.preventDefault(); });
  watch(showKnown);
}

const given = () => name.value.trim().replace(/\s+/g, " ");
const known = () => state.classes.find((one) => one.name === given());

/** Begin with these: a name, photos, or both. */
export function prepareTeaching({ called, photo } = {}) {
  if (called !== undefined) name.value = called;
  if (photo) teachPhoto({ ...photo, url: URL.createObjectURL(photo.blob) });
  show();
  name.focus();
}

export async function teachFiles(files) {
  const refused = [];
  for (const file of files) {
    try { teachPhoto(await prepare(file)); } catch (reason) { refused.push(reason.sentence ?? file.name); }
  }
  tell(problem, refused.length > 1 ? `${counted(refused.length, "file")} cannot be used, for example: ${refused[0]}` : refused[0]);
}

export function teachPhoto(photo) {
  if (photos.length >= MOST) { tell(problem, `${MOST} photos at a time are enough: learn these first.`); return; }
  photos.push(photo);
  show();
}

function show() {
  const one = known();
  keyed(find("teach-photos"), photos, (photo) => photo, thumb);
  fill(find("enough-meter"), (photos.length + (one?.photos ?? 0)) / GOOD);
  find("enough-meter").setAttribute("aria-label", `${counted(photos.length + (one?.photos ?? 0), "photo")} of ${GOOD} that are good`);
  find("enough-words").textContent = enough(photos.length, one?.photos ?? 0);
  tell(find("teach-name-words"), !given() ? "" : one
    ? `It knows ${one.name} already: these photos are added to its ${counted(one.photos, "photo")}.`
    : "A new class.");
  for (const chip of find("teach-chips").children) chip.setAttribute("aria-pressed", String(chip.textContent === given()));
  if (given()) name.removeAttribute("aria-invalid");
  if (given() && photos.length) tell(problem, "");
  find("teach-learn").textContent = given() && photos.length ? `Learn ${given().slice(0, 40)} from ${counted(photos.length, "photo")}` : "Learn";
}

function thumb(photo) {
  const place = () => photos.indexOf(photo) + 1;
  const remove = () => {
    const after = photos.indexOf(photo);
    photos = photos.filter((one) => one !== photo);
    release(photo);
    show();
    say(`Photo removed, ${photos.length} left.`);
    (find("teach-photos").children[Math.min(after, photos.length - 1)]?.querySelector("button") ?? find("teach-choose")).focus();
  };
  const node = make("li", {}, make("img", { src: photo.url, alt: photo.name, title: photo.name }),
    button("×", remove, { "aria-label": `Remove ${photo.name}` }));
  return { node, update: () => node.querySelector("img").setAttribute("alt", `${place()}: ${photo.name}`) };
}

function showKnown({ classes, loaded }) {
  const chips = classes.map((one) => button(one.name, () => { name.value = one.name; show(); }, { "aria-pressed": "false" }));
  find("teach-known").hidden = !chips.length;
  const present = JSON.stringify(classes.map((one) => one.name));
  if (find("teach-chips").dataset.present !== present) find("teach-chips").replaceChildren(...chips);
  find("teach-chips").dataset.present = present;
  find("teach-lead").textContent = loaded && !classes.length
    ? "The model knows nothing yet. Teach it one kind of thing at a time, which is called a class: its name and a few photos of it. With two classes or more it can tell them apart."
    : "A class is one kind of thing: its name and a few photos of it. The classes it knows already stay.";
  show();
}

async function learn() {
  if (!given() || !photos.length) {
    tell(problem, !given() ? "Say what it is called (step 1)." : "Add at least one photo (step 2).");
    if (!given()) name.setAttribute("aria-invalid", "true");
    (given() ? find("teach-choose") : name).focus();
    return;
  }
  const sent = photos;
  const called = given();
  const job = await during(find("teach-learn"), problem, async () => {
    if (!state.signedIn) throw signInFirst();
    return service.teach(called, sent);
  });
  if (!job) return;
  sent.forEach(release);
  photos = photos.filter((one) => !sent.includes(one));
  if (given() === called) name.value = ""; // else the next one is being typed already
  show();
  say(`${called} is being learned.`);
  afterTeaching();
}

function signInFirst() {
  return Object.assign(new Error("signed out"), { sentence: "Sign in first (at the top of this page). Your photos stay here.", mayHelp: true });
}
