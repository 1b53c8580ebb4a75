// Runs in every document of a replay before its own scripts. A replay passes no page time while a page computes:
// timers neither begin nor fire during the long tasks of the recorded pages, as [begin, end] in ms of page time since
// `start`, a Unix time in ms.
((tasks, start) => {
  const own = window.__eikon__;
  // Shorter delays only begin after a task: a page continues its work with them.
  const MIN_DELAY_MS = 50;
  // The browser takes a longer delay for none.
  const MAX_DELAY_MS = 2 ** 31 - 1;
  // A long task begins a little after the event that caused it.
  const TASK_START_MS = 20;
  // Timers that are due in one task fire within this time after it, in their order.
  const SPREAD_MS = 20;
  const { now } = Date;
  const taskAt = time => tasks.find(([begin, end]) => begin - TASK_START_MS <= time && time < end);
  const dueAt = time => {
    const task = taskAt(time);
    if (!task) return time;
    const [begin, end] = task;
    return end + Math.floor(SPREAD_MS * Math.max(0, time - begin) / (end - begin));
  };
  own.postpone = delay => {
    const asked = Number(delay);
    if (!(asked <= MAX_DELAY_MS)) return asked;
    const at = now() - start;
    const begun = taskAt(at)?.[1] ?? at;
    const due = begun + Math.max(0, asked);
    return Math.min((asked < MIN_DELAY_MS ? due : dueAt(due)) - at, MAX_DELAY_MS);
  };
})
