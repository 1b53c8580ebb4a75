// Runs in every document that is recorded, before the scripts that report something: takes the binding away before the
// page can see it.
(() => {
  const own = window.__eikon__;
  const binding = window.__eikon_observed__;
  delete window.__eikon_observed__;
  if (!binding || own.report) return;
  const { stringify } = JSON;
  const place = performance.timeOrigin;
  own.report = own.guard(news => {
    const taken = binding(stringify({ ...news, document: place }));
    taken.catch(() => {}); // the recording has ended
    return taken;
  });

  // A window that closes takes its responses with it: it closes once they have been read, or a second later.
  if (window !== window.top) return;
  const { Promise } = window;
  const setTimeout = window.__pwClock?.builtins?.setTimeout ?? window.setTimeout;
  own.holdClosing = own.guard(() => {
    const late = new Promise(done => { setTimeout(done, 1000); });
    return Promise.race([own.report({ subject: 'window' }), late]);
  });
})();
