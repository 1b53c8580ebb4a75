// Runs in every document of an attached context before its own scripts: reports its long tasks, and the scripts of long
// animation frames that were busy, as [begin, end] in ms of Unix time (https://w3c.github.io/longtasks,
// https://w3c.github.io/long-animation-frames). Several short tasks in a row are no long task, but make a frame long.
(() => {
  const own = window.__eikon__;
  if (!own.report || !own.observePerformance || own.reportsLongTasks || window !== window.top) return;
  own.reportsLongTasks = true;
  const origin = Date.now() - performance.now();
  // Most of a long frame may be spent waiting for the next one, or painting.
  const MIN_BUSY_MS = 40;
  const busy = scripts => scripts.reduce((sum, each) => sum + each.duration, 0) < MIN_BUSY_MS ? [] : scripts;
  const observer = new PerformanceObserver(list => {
    const tasks = list.getEntries().flatMap(each => each.scripts ? busy(each.scripts) : [each])
      .map(each => [origin + each.startTime, origin + each.startTime + each.duration]);
    if (tasks.length) own.report({ subject: 'long-tasks', tasks });
  });
  for (const type of ['longtask', 'long-animation-frame']) {
    if (PerformanceObserver.supportedEntryTypes.includes(type)) {
      Reflect.apply(own.observePerformance, observer, [{ type, buffered: true }]);
    }
  }
})();
