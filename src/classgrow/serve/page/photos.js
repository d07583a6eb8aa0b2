/** Photos as they come in: dropped, pasted, chosen. Big ones are made smaller here, before anything is sent. */

import { make } from "./dom.js";

const LONGEST_SIDE = 1024;
const AS_IT_IS = 400_000;
const MOST_DROPPED = 500;
const SENDABLE = ["image/jpeg", "image/png", "image/webp"];

/** A photo that is ready to be sent: `{blob, name, url}`; `url` is for showing it, until `release`. */
export async function prepare(file) {
  const name = file.name || "photo";
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    const problem = new Error(name);
    problem.sentence = `${name} is not a photo that this browser can open: use JPEG, PNG or WebP.`;
    problem.mayHelp = false;
    throw problem;
  }
  const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  let blob = file;
  if (scale < 1 || file.size > AS_IT_IS || !SENDABLE.includes(file.type)) blob = await drawn(bitmap, scale);
  bitmap.close();
  return { blob, name, url: URL.createObjectURL(blob) };
}

/** A picture drawn at another size, as JPEG (which also leaves its metadata behind). */
export async function drawn(source, scale) {
  const width = source.videoWidth || source.width;
  const height = source.videoHeight || source.height;
  const canvas = make("canvas", { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.imageSmoothingQuality = "high";
  pen.drawImage(source, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/jpeg", 0.92); });
}

/** One frame of a running video as a photo. */
export async function frame(video, name) {
  const blob = await drawn(video, Math.min(1, LONGEST_SIDE / Math.max(video.videoWidth, video.videoHeight, 1)));
  return { blob, name, url: URL.createObjectURL(blob) };
}

export const release = (photo) => URL.revokeObjectURL(photo.url);

/** Let the person choose files, or photograph with the phone's own camera. */
export function choose(take, { camera = false } = {}) {
  document.querySelector("input.chooser")?.remove();
  const input = make("input", {
    type: "file", accept: "image/*", class: "chooser", hidden: true, multiple: !camera, capture: camera ? "environment" : null,
    onchange: () => { take([...input.files]); input.remove(); },
  });
  document.body.append(input);
  input.click();
}

/** The files that were dropped, those in dropped folders included. */
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  const found = [];
  while (entries.length && found.length < MOST_DROPPED) {
    const entry = entries.shift();
    if (entry.isFile) found.push(await new Promise((done, failed) => { entry.file(done, failed); }));
    else entries.push(...await everyEntry(entry.createReader()));
  }
  return found.filter((file) => file.type.startsWith("image/"));
}

/** A folder's reader gives its entries in portions. */
async function everyEntry(reader) {
  const every = [];
  for (;;) {
    const some = await new Promise((done, failed) => { reader.readEntries(done, failed); });
    if (!some.length) return every;
    every.push(...some);
  }
}

/** Photos that are dropped on the page or pasted go to `take(files)` of the part that is shown. */
export function listen(area, take) {
  const holds = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;
  const mark = (over) => area()?.classList.toggle("over", over);
  addEventListener("dragenter", (event) => { if (holds(event)) { depth += 1; mark(true); } });
  addEventListener("dragleave", (event) => { if (holds(event)) { depth = Math.max(0, depth - 1); if (!depth) mark(false); } });
  addEventListener("dragover", (event) => { if (holds(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    depth = 0;
    mark(false);
    if (area()) dropped(event.dataTransfer).then(take);
  });
  addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])].filter((file) => file.type.startsWith("image/"));
    if (files.length && area()) { event.preventDefault(); take(files); }
  });
}
