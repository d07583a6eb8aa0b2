/** Small tools for the page's elements. Text is set as text, never as markup. */

export const find = (id) => document.getElementById(id);

/** An element. `onclick` and the like are listeners, `text` is its text, everything else an attribute. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A button that is no form's. */
export const button = (text, onclick, attributes = {}) => make("button", { type: "button", text, onclick, ...attributes });

/** A bar that is filled to a share between 0 and 1; what it shows stands beside it as text. */
export function bar(share) {
  const node = make("span", { class: "bar", "aria-hidden": "true" }, make("i"));
  fill(node, share);
  return node;
}

export const fill = (node, share) => node.style.setProperty("--share", String(Math.min(1, Math.max(0, share || 0))));

/** Show text in an element, or hide the element where there is none. */
export function tell(node, text) {
  node.textContent = text || "";
  node.hidden = !text;
}

/** Say something to who cannot see it happen. */
export const say = (text) => { find("said").textContent = text; };

/** Run an action from a button: it cannot be started twice, and what goes wrong is said at `place` with a way to retry. */
export async function during(pressed, place, action) {
  if (pressed?.getAttribute("aria-busy") === "true") return undefined;
  pressed?.setAttribute("aria-busy", "true");
  place.replaceChildren();
  place.hidden = true;
  try {
    return await action();
  } catch (problem) {
    showProblem(place, problem, () => during(pressed, place, action));
    return undefined;
  } finally {
    pressed?.removeAttribute("aria-busy");
  }
}

/** A sentence about what went wrong, with a retry button where trying again may help. */
export function showProblem(place, problem, again) {
  if (!problem.sentence) console.error(problem);
  const sentence = problem.sentence || "Something went wrong on this page: load it again.";
  const retry = again && problem.mayHelp !== false ? button("Try again", again, { class: "quiet" }) : null;
  place.replaceChildren(make("span", { text: `${sentence} ` }), ...(retry ? [retry] : []));
  place.hidden = false;
}

/** Make `container` hold one node for each item: those of known keys stay (with focus and state) and are updated.
 * `build(item)` returns `{node, update(item)}`. */
export function keyed(container, items, key, build) {
  const known = container.known ??= new Map();
  const wanted = new Set(items.map(key));
  for (const [one, built] of known) if (!wanted.has(one)) { built.node.remove(); known.delete(one); }
  items.forEach((item, place) => {
    let built = known.get(key(item));
    if (!built) known.set(key(item), built = build(item));
    built.update?.(item);
    if (container.children[place] !== built.node) container.insertBefore(built.node, container.children[place] ?? null);
  });
}
