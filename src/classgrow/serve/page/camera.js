/** The camera: one photo, or several while its button is held. Where a page may not use it, the phone's own takes over. */

import { find, say } from "./dom.js";
import { choose, frame, prepare } from "./photos.js";
import { counted } from "./words.js";

const EVERY_MS = 350;
const dialog = find("camera");
const video = find("camera-video");
const shutter = find("camera-shutter");
const words = find("camera-words");

let now = null;
let stream = null;
let facing = "environment";

/** Open the camera; each photo goes to `take`. `several`: it stays open, and holding the button takes many. */
export async function openCamera(take, { several = false } = {}) {
  const own = () => choose(async (files) => { for (const file of files) take(await prepare(file)); }, { camera: true });
  if (!navigator.mediaDevices?.getUserMedia) { own(); return; }
  now = { take, several, count: 0, timer: null };
  shutter.textContent = several ? "Hold to take photos" : "Take a photo";
  words.textContent = "Starting the camera …";
  shutter.disabled = true;
  dialog.showModal();
  try {
    await start();
  } catch (problem) {
    if (!now) return;
    words.textContent = problem.name === "NotAllowedError"
      ? "The browser does not allow the camera here. Allow it in the browser's settings, or choose photos instead."
      : "No camera was found. Choose photos instead.";
  }
}

async function start() {
  stop();
  const opened = await navigator.mediaDevices.getUserMedia({ video: { facingMode: facing, width: { ideal: 1280 } }, audio: false });
  if (!now) { opened.getTracks().forEach((track) => track.stop()); return; }
  stream = opened;
  video.srcObject = opened;
  await video.play();
  const cameras = (await navigator.mediaDevices.enumerateDevices()).filter((device) => device.kind === "videoinput");
  find("camera-turn").hidden = cameras.length < 2;
  shutter.disabled = false;
  shutter.focus();
  words.textContent = now?.several ? "Hold the button, and move around the thing a little." : "The middle of the picture is looked at.";
}

function stop() {
  stream?.getTracks().forEach((track) => track.stop());
  stream = null;
  video.srcObject = null;
}

async function shoot() {
  if (!now || !video.videoWidth) return;
  const mine = now;
  mine.count += 1;
  const flash = dialog.querySelector(".flash");
  flash.classList.remove("now");
  void flash.offsetWidth;
  flash.classList.add("now");
  const photo = await frame(video, `camera ${new Date().toLocaleTimeString()} ${mine.count}.jpg`);
  mine.take(photo);
  if (mine.several) words.textContent = `${counted(mine.count, "photo")} taken. 5 are a start, 20 are good.`;
  else dialog.close();
}

function hold() {
  if (!now || now.timer || shutter.disabled) return;
  shoot();
  if (now.several) now.timer = setInterval(shoot, EVERY_MS);
}

function letGo() {
  if (now?.timer) { clearInterval(now.timer); now.timer = null; }
}

shutter.addEventListener("pointerdown", (event) => { if (event.button === 0) hold(); });
for (const event of ["pointerup", "pointercancel", "pointerleave", "blur", "keyup"]) shutter.addEventListener(event, letGo);
shutter.addEventListener("keydown", (event) => {
  if (event.key !== " " && event.key !== "Enter") return;
  event.preventDefault();
  hold();
});
shutter.addEventListener("click", (event) => { if (event.detail === 0) { hold(); letGo(); } }); // by a screen reader
shutter.addEventListener("contextmenu", (event) => event.preventDefault());
find("camera-turn").addEventListener("click", () => {
  facing = facing === "environment" ? "user" : "environment";
  start().catch(() => { words.textContent = "That camera cannot be used."; });
});
find("camera-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  letGo();
  stop();
  if (now?.several) say(`${counted(now.count, "photo")} added.`);
  now = null;
});
