// The list of runs: is loaded again whenever the folder changes, and keeps what is chosen and has the focus.
const follow = new EventSource(`events?state=${document.body.dataset.state}`);
follow.addEventListener('message', async () => {
  const response = await fetch(location.href, { cache: 'no-store' });
  if (response.redirected) location.replace(response.url); // the only run has ended: to its report
  if (!response.ok || response.redirected) return;
  const next = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const id of ['headline', 'runs']) document.getElementById(id).replaceWith(next.getElementById(id));
  document.getElementById('live').textContent = `Updated ${new Date().toLocaleTimeString()}`;
});
follow.addEventListener('error', () => {
  document.getElementById('live').textContent = 'The site has been stopped: this page is no longer updated.';
});
