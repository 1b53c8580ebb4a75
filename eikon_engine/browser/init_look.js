// Runs in every document before its own scripts: lets the driver ask whether a document is at rest.
(() => {
  const own = window.__eikon__;
  // Where the pointer was last: what has moved under it since learns of that with the next frame, at no certain time.
  let pointer = null, doubted = null, doubts = 0;
  window.addEventListener('pointermove', event => { pointer = [event.clientX, event.clientY]; }, true);
  window.addEventListener('pointerout', event => { if (!event.relatedTarget) pointer = null; }, true);
  const lies = () => {
    if (!pointer) return false;
    let hit = document.elementFromPoint(...pointer);
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(...pointer);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    if (hit === null || hit.matches(':hover')) return false;
    doubts = hit === doubted ? doubts + 1 : 1;
    doubted = hit;
    return doubts <= 3; // what does not learn of the pointer in three frames never does
  };

  // A window that closes itself answers for some time; one that may not do so is waited for no longer than any other.
  window.close = new Proxy(window.close, {
    apply(native, self, values) {
      if (window === window.top && (window.opener || history.length < 2)) own.leaving = true;
      return Reflect.apply(native, self, values);
    },
  });

  // Animations run by a clock of their own, which nothing can step: they end now, with their events, or stand still.
  const still = () => {
    const moving = own.endAnimations?.() ?? 0;
    for (const each of document.getElementsByTagName('svg')) {
      if (each.animationsPaused && !each.animationsPaused()) { each.pauseAnimations(); each.setCurrentTime(0); }
    }
    return !moving;
  };

  // Answers: loads or leaves, moves, number of fetches and of other work that is waited for, number of workers.
  own.look = () => {
    const moves = !still() || lies();
    const loaded = document.readyState === 'complete' || own.waived === document;
    const stays = !own.leaving || own.leaving.defaultPrevented;
    const pending = Math.max(0, (own.pending || 0) - (own.unanswered || 0)) + (own.working?.() ?? 0);
    const seen = [loaded && stays ? 0 : 1, moves ? 1 : 0, pending, own.workerCount?.() ?? 0];
    if (!seen[3]) return seen;
    return own.restWorkers().then(fetches => {
      const loading = seen[0] || (own.waived !== document && own.workersStart() ? 1 : 0);
      return [loading, seen[1], pending + fetches, seen[3]];
    });
  };

  // What looks, of this document and all inside it; null if one of them is out of reach.
  const { get: count } = Object.getOwnPropertyDescriptor(window, 'length');
  own.inside = () => {
    const all = [own];
    try {
      for (let place = 0; place < Reflect.apply(count, window, []); place++) all.push(...window[place].__eikon__.inside());
    } catch {
      return null;
    }
    return all;
  };

  // The sum over so many documents; null, and none of them is looked at, if there are others. A look is not repeated:
  // what it ended does not move any more.
  own.lookInside = async documents => {
    const all = own.inside();
    if (all?.length !== documents) return null;
    const looks = await Promise.all(all.map(each => each.look()));
    return [0, 1, 2, 3].map(part => looks.reduce((sum, each) => sum + each[part], 0));
  };
})();
