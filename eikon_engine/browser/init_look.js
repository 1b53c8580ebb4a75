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

  // Animations run by a clock of their own, which nothing can step: one that ends is ended now, with its events, and one
  // that never does is stopped where it begins.
  const still = () => {
    const moving = document.getAnimations().filter(
      each => each.playState === 'running' && each.timeline === document.timeline);
    for (const each of moving) {
      if (each.effect?.getComputedTiming().endTime < Infinity && each.playbackRate) each.finish();
      else { each.pause(); each.currentTime = 0; }
    }
    for (const each of document.getElementsByTagName('svg')) {
      if (each.animationsPaused && !each.animationsPaused()) { each.pauseAnimations(); each.setCurrentTime(0); }
    }
    return !moving.length;
  };

  // Answers: loads or leaves, moves, number of answers to fetches that are waited for.
  own.look = () => {
    const moves = !still() || lies();
    const loaded = document.readyState === 'complete' || own.waived === document;
    const stays = !own.leaving || own.leaving.defaultPrevented;
    return [loaded && stays ? 0 : 1, moves ? 1 : 0, Math.max(0, (own.pending || 0) - (own.unanswered || 0))];
  };
})();
