/** Numbers as people read them, and what can be said of them. */

export const START = 5;
export const GOOD = 20;

export const counted = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/** "93 %"; "–" where it was not measured. Never "100 %" or "0 %" by rounding alone. */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  const rounded = Math.round(share * 100);
  if (rounded === 100 && share < 1) return "99\u00a0%";
  if (rounded === 0 && share > 0) return "under 1\u00a0%";
  return `${rounded}\u00a0%`;
}

/** "about 2 min left" */
export function timeLeft(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1.5) return "nearly done";
  return seconds < 90 ? `about ${Math.ceil(seconds)} s left` : `about ${Math.ceil(seconds / 60)} min left`;
}

/** The time of a moment: today's by the clock, others with the day. */
export function when(moment) {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  const clock = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  const today = new Date().toDateString() === date.toDateString();
  return today ? `today, ${clock}` : `${date.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" })}, ${clock}`;
}

export const listed = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

/** "cat, dog, fox and 12 more" */
export const shortList = (names, most = 4) =>
  names.length > most + 1 ? `${names.slice(0, most).join(", ")} and ${names.length - most} more` : listed(names);

/** What so many photos of a class are good for, and how many more would do. */
export function enough(added, known = 0) {
  const all = added + known;
  const told = known && added ? `${counted(added, "new photo")} and ${known} it has` : counted(all, "photo");
  if (all === 0) return "No photos yet. 1 works badly, 5 is a start, 20 is good.";
  if (added === 0) return `It has ${counted(known, "photo")} of this class. Add more of them.`;
  if (all === 1) return "1 photo works badly, and its accuracy cannot be measured. 4 more make a start.";
  if (all < START) return `${told}: too few to rely on. ${START - all} more ${START - all === 1 ? "makes" : "make"} a start.`;
  if (all < GOOD) return `${told}: a start. ${GOOD - all} more would be good.`;
  return `${told}: good. Different light, angles and backgrounds help more than photos that are alike.`;
}
