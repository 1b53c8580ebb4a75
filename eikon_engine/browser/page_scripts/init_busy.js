// Runs in every document of a sealed replay before its own scripts. A replay passes no page time while a page computes:
// timers neither begin nor fire while the recorded page computed, as [begin, end] in ms of page time since `start`.
((spans, start) => {
  const own = window.__eikon__;
  // Shorter delays are taken as they are: a page continues its work with them.
  const MIN_DELAY_MS = 50;
  // What a page computes begins a little after the event that caused it.
  const SOON_MS = 20;
  const { now } = Date;
  const idleAt = time => spans.find(([begin, end]) => begin - SOON_MS <= time && time < end)?.[1] ?? time;
  own.putOff = delay => {
    const asked = Number(delay);
    if (!(asked >= MIN_DELAY_MS)) return asked;
    const at = now() - start;
    return idleAt(idleAt(at) + asked) - at;
  };
})
