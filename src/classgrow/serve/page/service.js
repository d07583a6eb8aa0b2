/** Every request to the service, and what is known of it. Failures are sentences. */

export const state = {
  /** null: not asked yet */
  signedIn: null, mayRead: true, online: true, loaded: false,
  model: "", version: null, classes: [], jobs: [], history: [], tray: { on: true, groups: [] },
};

const watchers = new Set();

/** Call `watcher` now and whenever something changes. */
export function watch(watcher) {
  watchers.add(watcher);
  watcher(state);
}

export function change(part) {
  Object.assign(state, part);
  for (const watcher of watchers) watcher(state);
}

/** A request that was not answered as hoped. `mayHelp`: whether trying again may. */
export class Refused extends Error {
  constructor(sentence, status, mayHelp) {
    super(sentence);
    Object.assign(this, { sentence, status, mayHelp });
  }
}

const AWAY = "The service cannot be reached. Nothing is lost: try again when it is back.";
const TRIES = 5;

/** Ask the service; returns its JSON. A service that is busy is asked again by itself. */
export async function ask(path, { method = "GET", body, headers } = {}) {
  for (let attempt = 1; ; attempt += 1) {
    let response;
    try {
      response = await fetch(path, { method, body, headers, credentials: "same-origin", cache: "no-store" });
    } catch {
      if (state.online) change({ online: false });
      throw new Refused(AWAY, 0, true);
    }
    if (!state.online) change({ online: true });
    if (response.status === 429 && attempt < TRIES) {
      const seconds = Number(response.headers.get("retry-after")) || attempt;
      await new Promise((done) => { setTimeout(done, Math.min(10, seconds) * 1000); });
      continue;
    }
    return read(response);
  }
}

async function read(response) {
  const content = await response.json().catch(() => null);
  if (response.ok) return content;
  if (response.status === 401) {
    if (state.signedIn !== false) change({ signedIn: false });
    throw new Refused("This needs you to be signed in.", 401, true);
  }
  const said = typeof content?.error === "string" ? content.error : `The service answered with the error ${response.status}.`;
  throw new Refused(said, response.status, response.status >= 500 || response.status === 429 || response.status === 409);
}

const post = (path, content) =>
  ask(path, { method: "POST", body: JSON.stringify(content), headers: { "Content-Type": "application/json" } });

/** Photos `{blob, name}` as a form, with other fields. */
function form(photos, fields = []) {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  for (const photo of photos) data.append("photo", photo.blob, photo.name);
  return data;
}

const photoName = (path) => path.replace("/photos/", "");

export const service = {
  about: async () => {
    const { signed_in: signedIn, may_read: mayRead } = await ask("/session");
    return { signedIn, mayRead };
  },
  classes: async () => {
    const { model, version, classes } = await ask("/classes");
    return { model, version, classes };
  },
  jobs: async () => (await ask("/jobs")).jobs,
  history: async () => (await ask("/history")).versions,
  tray: async () => {
    const { most, groups } = await ask("/tray");
    return { on: most > 0, groups: groups.map((group) => group.photos) };
  },
  predict: async (photo) => (await ask("/predict", { method: "POST", body: form([photo]) })).answers[0],
  teach: (name, photos) => ask("/teach", { method: "POST", body: form(photos, [["name", name]]) }),
  correct: (name, photo) => ask("/correct", { method: "POST", body: form([photo], [["name", name]]) }),
  nameUnknown: (name, photos) =>
    ask("/teach", { method: "POST", body: form([], [["name", name], ...photos.map((photo) => ["tray", photoName(photo)])]) }),
  clearTray: (photos) => post("/tray/remove", { photos: photos.map(photoName) }),
  forget: (name) => post("/forget", { name }),
  rename: (name, to) => post("/rename", { name, new: to }),
  undo: (version) => post("/undo", { version }),
  keep: (job) => post("/keep", { job }),
  discard: (job) => post("/discard", { job }),
  signIn: (token) => post("/sign-in", { token }),
};
