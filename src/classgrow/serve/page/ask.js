/** Ask: each photo is a card with its answer, what it is like, and a way to correct it with two clicks. */

import { bar, button, during, find, make, say, showProblem, tell } from "./dom.js";
import { choose, prepare, release } from "./photos.js";
import { openCamera } from "./camera.js";
import { service, state, watch } from "./service.js";
import { counted, percent, shortList, START } from "./words.js";

const AT_ONCE = 4;
const MOST_CARDS = 100;
const list = find("answers");
const waiting = [];
let running = 0;
let refresh = () => {};
let sawUnknown = () => {};

export function startAsk(afterChange, afterUnknown) {
  refresh = afterChange;
  sawUnknown = afterUnknown;
  find("ask-choose").addEventListener("click", () => choose(askFiles));
  find("ask-camera").addEventListener("click", () => openCamera(askPhoto));
  find("answers-clear").addEventListener("click", clear);
  watch(showKnowledge);
}

/** Ask about files; those that cannot be opened get a card that says so. */
export function askFiles(files) {
  for (const file of files) {
    const card = addCard(file.name);
    enqueue(async () => {
      try {
        await askCard(card, await prepare(file));
      } catch (problem) {
        card.root.querySelector(".said").textContent = "Not asked";
        showProblem(card.problem, problem);
      }
    });
  }
}

export function askPhoto(photo) {
  const card = addCard(photo.name);
  enqueue(() => askCard(card, photo));
}

function enqueue(work) {
  waiting.push(work);
  next();
}

async function next() {
  if (running >= AT_ONCE || !waiting.length) return;
  running += 1;
  await waiting.shift()();
  running -= 1;
  next();
}

function addCard(name) {
  const problem = make("p", { class: "error", role: "alert", hidden: true });
  const said = make("h3", { class: "said", text: "Looking …" });
  const body = make("div", { class: "body" }, make("div", {}, said, make("p", { class: "source", text: name, title: name })), problem);
  const picture = make("img", { alt: "" });
  const rest = make("div", { class: "wide-part" });
  const root = make("li", { class: "card answer" }, picture, body, rest);
  list.prepend(root);
  while (list.children.length > MOST_CARDS) list.lastElementChild.remove();
  find("answers-head").hidden = false;
  return { root, picture, said, problem, rest, name };
}

async function askCard(card, photo) {
  card.photo = photo;
  card.picture.src = photo.url;
  card.picture.alt = `Your photo ${photo.name}`;
  const answer = await during(card.root, card.problem, () => service.predict(photo));
  if (answer) showAnswer(card, answer);
  else card.said.textContent = "No answer yet";
  const retry = card.problem.querySelector("button");
  if (retry) retry.onclick = null;
  if (retry) retry.replaceWith(button("Try again", () => askCard(card, photo), { class: "quiet" }));
}

function showAnswer(card, answer) {
  const { said, rest, photo } = card;
  said.textContent = answer.unknown ? "None of these" : answer.name;
  said.classList.toggle("none", answer.unknown);
  const unlike = "It is unlike everything learned so far. If it were one of them, it would most likely be:";
  rest.replaceChildren(
    ...(answer.unknown ? [make("p", { class: "small muted", text: unlike })] : []),
    ranking(answer), nearest(answer) ?? "", correction(card, answer),
  );
  say(answer.unknown ? `${photo.name}: none of these` : `${photo.name}: ${answer.name}, ${percent(answer.probability)}`);
  if (answer.unknown) sawUnknown();
}

function ranking(answer) {
  const rows = answer.ranking.map(([name, share]) =>
    make("li", {}, make("span", { text: name, title: name }), make("span", { class: "value", text: percent(share) }), bar(share)));
  return make("ol", { class: answer.unknown ? "bars doubtful" : "bars", "aria-label": "Likeliest classes" }, ...rows);
}

function nearest(answer) {
  const near = answer.nearest.slice(0, 4);
  if (!near.length) return null;
  const photos = near.map((one) => make("li", {},
    one.photo && make("img", { src: one.photo, alt: `Learned photo of ${one.name}`, loading: "lazy", width: 96, height: 96 }),
    make("span", { text: one.name, title: one.name }),
    make("span", { class: "muted", text: `${percent(Math.max(0, one.similarity))} alike` })));
  return make("div", { class: "near" }, make("p", { class: "small muted", text: "The learned photos it is most like" }), make("ul", {}, ...photos));
}

/** "Wrong?", then the right class: two clicks. */
function correction(card, answer) {
  if (!state.signedIn) return "";
  const choices = make("div", { class: "chips", role: "group", "aria-label": "The right class", hidden: true });
  const problem = make("p", { class: "error", role: "alert", hidden: true });
  const result = make("p", { role: "status", hidden: true });
  const open = button(answer.unknown ? "Say what it is" : "Wrong?", () => toggle(), { class: "quiet", "aria-expanded": "false" });
  const area = make("div", { class: "correct" }, make("div", { class: "row" }, open), choices, problem, result);
  const name = (right, pressed) => during(pressed, problem, async () => {
    await service.correct(right, card.photo);
    choices.hidden = true;
    open.hidden = true;
    tell(result, `Thank you. It is being learned as a photo of ${right}.`);
    refresh();
  });
  function toggle() {
    choices.hidden = !choices.hidden;
    open.setAttribute("aria-expanded", String(!choices.hidden));
    const others = state.classes.map((one) => one.name).filter((one) => answer.unknown || one !== answer.name);
    const chips = others.map((one) => button(one, (event) => name(one, event.currentTarget)));
    choices.replaceChildren(...chips, button("A new class …", () => teachNew(card.photo)));
    if (!choices.hidden) choices.querySelector("button").focus();
  }
  return area;
}

let teachNew = () => {};
/** What happens to a photo of a class that is not known yet. */
export const onNewClass = (action) => { teachNew = action; };

function clear() {
  waiting.length = 0;
  for (const picture of list.querySelectorAll(".answer > img")) if (picture.src.startsWith("blob:")) release({ url: picture.src });
  list.replaceChildren();
  find("answers-head").hidden = true;
  find("ask-choose").focus();
}

/** What it knows, and what it does not. */
function showKnowledge({ classes, loaded }) {
  const names = classes.map((one) => one.name);
  find("ask-lead").textContent = !loaded ? "" : names.length
    ? `It knows ${counted(names.length, "class", "classes")}: ${shortList(names, 6)}. Anything else should be “none of these”.`
    : "It has not learned anything yet. Teach it a first class, then ask.";
  find("ask-drop").hidden = loaded && !names.length;
  find("ask-teach").hidden = !(loaded && !names.length);
  find("limits").hidden = !names.length;
  find("limits-list").replaceChildren(...limits(classes).map((text) => make("li", { text })));
}

function limits(classes) {
  const said = ["It knows only the classes it was taught. Things that look much like one of them are often taken for it, not for “none of these”."];
  if (classes.length === 1) said.push("With a single class it cannot tell one thing from another yet: teach a second one.");
  const few = classes.filter((one) => one.photos < START).map((one) => one.name);
  if (few.length) said.push(`Fewer than ${START} photos: ${shortList(few)}. Its answers about ${few.length === 1 ? "it" : "them"} are a guess; teach more photos.`);
  const unmeasured = classes.filter((one) => one.accuracy === null || one.accuracy === undefined).map((one) => one.name);
  if (unmeasured.length) said.push(`How often it is right is not known for ${shortList(unmeasured)}.`);
  if (unmeasured.length < classes.length) said.push("Accuracy is measured on photos of the kind it was taught, never on those it was fitted to. On photos from elsewhere it is usually lower.");
  said.push("It looks at the square in the middle of a photo. What is small or at the edge may be missed.");
  return said;
}
