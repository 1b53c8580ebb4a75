// Runs in every document of an attached context before its own scripts: reports when it computed for 50 ms or more
// without a pause (https://w3c.github.io/longtasks), in ms of Unix time.
(() => {
  const own = window.__eikon__;
  if (!own.report || !own.observePerformance || own.reportsBusy || window !== window.top) return;
  own.reportsBusy = true;
  const origin = Date.now() - performance.now();
  const observer = new PerformanceObserver(list => {
    const spans = list.getEntries().map(each => [origin + each.startTime, origin + each.startTime + each.duration]);
    own.report({ subject: 'busy', spans });
  });
  Reflect.apply(own.observePerformance, observer, [{ type: 'longtask', buffered: true }]);
})();
