/** Who may do what: signed in by the link the service printed, or by its token; else looking only, or nothing. */

import { find, say, tell } from "./dom.js";
import { change, service, watch } from "./service.js";

export function startSession(afterSigningIn) {
  const form = find("sign-in-form");
  const open = find("sign-in-open");
  open.addEventListener("click", () => {
    form.hidden = !form.hidden;
    open.setAttribute("aria-expanded", String(!form.hidden));
    open.textContent = form.hidden ? "Sign in" : "Not now";
    if (!form.hidden) find("token").focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const pressed = form.querySelector("button");
    if (pressed.getAttribute("aria-busy") === "true") return;
    pressed.setAttribute("aria-busy", "true");
    tell(find("sign-in-error"), "");
    try {
      await service.signIn(find("token").value.trim());
      find("token").value = "";
      change({ signedIn: true });
      say("You are signed in.");
      find("sign-in-form").hidden = true;
      find("main").focus();
      await afterSigningIn();
    } catch (problem) {
      tell(find("sign-in-error"), problem.status === 401 || problem.status === 403 ? "That token is not the right one. It is in the link that the service printed, after the #." : problem.sentence);
      find("token").focus();
    } finally {
      pressed.removeAttribute("aria-busy");
    }
  });
  watch(show);
}

function show({ signedIn, mayRead }) {
  const closed = signedIn === false && !mayRead;
  find("signed-out").hidden = signedIn !== false;
  find("signed-out-words").textContent = closed
    ? "This service is private. Open the link that “classgrow serve” printed when it started. Or paste the token, which is the part of that link after the #."
    : "You can ask and look. To teach or change something, open the link that “classgrow serve” printed when it started, or sign in with its token.";
  if (closed) find("sign-in-form").hidden = false;
  find("sign-in-open").hidden = closed;
  document.body.classList.toggle("closed", closed);
}
