/** Every version there was, the present one first, and the way back. */

import { button, during, find, keyed, make, say } from "./dom.js";
import { service, watch } from "./service.js";
import { counted, percent, when } from "./words.js";

let refresh = () => {};

export function startHistory(afterChange) {
  refresh = afterChange;
  watch(show);
}

function show({ history, loaded, signedIn }) {
  const newest = [...history].sort((a, b) => b.number - a.number);
  find("history-lead").textContent = !loaded ? "" : newest.length
    ? "Every change is a version of its own. Going back is a change too, so it can be undone as well."
    : "Nothing has happened yet.";
  keyed(find("history"), newest, (one) => JSON.stringify([one, one === newest[0], signedIn]), (one) => entry(one, newest, signedIn));
}

function entry(one, newest, signedIn) {
  const present = one === newest[0];
  const before = newest[1];
  const problem = make("p", { class: "error", role: "alert", hidden: true });
  const details = [`Version ${one.number}`, when(one.when), counted(one.classes.length, "class", "classes")];
  if (one.accuracy !== null && one.accuracy !== undefined) details.push(`right for ${percent(one.accuracy)}`);
  const mayUndo = one.restorable && signedIn;
  const text = present && before ? `Undo: back to version ${before.number}` : `Back to version ${one.number}`;
  const target = present ? before : one;
  const press = async (event) => {
    const done = await during(event.currentTarget, problem, async () => { await service.undo(target.number); return true; });
    if (!done) return;
    say(`Back to what version ${target.number} was.`);
    await refresh();
    find("history-title").focus();
  };
  const shown = present ? before?.restorable && signedIn : mayUndo && one !== before;
  return { node: make("li", { class: present ? "present" : null, "aria-current": present ? "true" : null },
    make("h3", { text: one.words }),
    make("p", { class: "small muted", text: `${details.filter(Boolean).join(" · ")}${present ? " · answers now" : ""}` }),
    shown ? make("div", { class: "row" }, button(text, press, present ? {} : { class: "quiet" })) : null, problem) };
}
