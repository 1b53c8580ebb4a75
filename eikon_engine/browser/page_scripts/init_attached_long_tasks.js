// Runs in every document of an attached context before its own scripts: reports its long tasks, as [begin, end] in ms of
// Unix time (https://w3c.github.io/longtasks).
(() => {
  const own = window.__eikon__;
  if (!own.report || !own.observePerformance || own.reportsLongTasks || window !== window.top) return;
  own.reportsLongTasks = true;
  const origin = Date.now() - performance.now();
  const observer = new PerformanceObserver(list => {
    const tasks = list.getEntries().map(each => [origin + each.startTime, origin + each.startTime + each.duration]);
    own.report({ subject: 'long-tasks', tasks });
  });
  Reflect.apply(own.observePerformance, observer, [{ type: 'longtask', buffered: true }]);
})();
