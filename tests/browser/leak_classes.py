"""The kinds of traffic a page can cause, each as a script that sends it to every origin of `places`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Fate: TypeAlias = Literal["served", "blocked", "reported", "silent"]
"""Answered from the recording; refused by a route and listed as a miss; caught behind the routes and listed as a
violation; or silent, because the browser does not even try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakClass:
    """One kind of traffic."""

    name: str
    script: str
    fate: Fate


def in_worker(script: str) -> str:
    """Return code that runs a script in a worker from a blob, with `places` defined."""
    return f"new Worker(blob(`{script}`))"


EACH: Final = "for (const place of places) "
FRAME: Final = "document.body.append(Object.assign(document.createElement"
CLASSES: Final = (
    LeakClass(name="recorded fetch", fate="served", script="fetch('/served')"),
    LeakClass(name="redirected fetch", fate="served", script="fetch('/moved').catch(() => 0)"),
    LeakClass(name="redirected image", fate="served", script="new Image().src = '/moved'"),
    LeakClass(name="redirected document", fate="served", script="location = '/moved'"),
    LeakClass(name="fetch", fate="blocked", script=EACH + "fetch(place + '/fetch').catch(() => 0)"),
    LeakClass(
        name="keepalive fetch",
        fate="blocked",
        script=EACH + "fetch(place + '/keep', {keepalive: true, method: 'POST', body: 'x'}).catch(() => 0)",
    ),
    LeakClass(
        name="XMLHttpRequest",
        fate="blocked",
        script=EACH + "{ const x = new XMLHttpRequest(); x.open('GET', place + '/xhr'); x.send() }",
    ),
    LeakClass(name="beacon", fate="blocked", script=EACH + "navigator.sendBeacon(place + '/beacon', 'x')"),
    LeakClass(name="WebSocket", fate="blocked", script=EACH + "new WebSocket(place.replace('http', 'ws') + '/socket')"),
    LeakClass(name="EventSource", fate="blocked", script=EACH + "new EventSource(place + '/events')"),
    LeakClass(name="image", fate="blocked", script=EACH + "new Image().src = place + '/i.png'"),
    LeakClass(
        name="font",
        fate="blocked",
        script=EACH + "new FontFace('f', `url(${place}/f.woff2)`).load().catch(() => 0)",
    ),
    LeakClass(
        name="style sheet", fate="blocked", script=EACH + FRAME + "('link'), {rel: 'stylesheet', href: place + '/s'}))"
    ),
    LeakClass(name="script", fate="blocked", script=EACH + FRAME + "('script'), {src: place + '/s.js'}))"),
    LeakClass(name="video", fate="blocked", script=EACH + FRAME + "('video'), {src: place + '/v.mp4'}))"),
    LeakClass(name="module", fate="blocked", script=EACH + "import(place + '/m.js').catch(() => 0)"),
    LeakClass(
        name="prefetch", fate="blocked", script=EACH + FRAME + "('link'), {rel: 'prefetch', href: place + '/p'}))"
    ),
    LeakClass(name="preconnect", fate="silent", script=EACH + FRAME + "('link'), {rel: 'preconnect', href: place}))"),
    LeakClass(
        name="dns-prefetch", fate="silent", script=EACH + FRAME + "('link'), {rel: 'dns-prefetch', href: place}))"
    ),
    LeakClass(name="favicon", fate="silent", script=EACH + FRAME + "('link'), {rel: 'icon', href: place + '/f.ico'}))"),
    LeakClass(
        name="ping",
        fate="blocked",
        script=EACH + "{ const a = document.createElement('a'); a.href = '#x'; a.ping = place + '/ping'; a.click() }",
    ),
    LeakClass(name="frame", fate="blocked", script=EACH + FRAME + "('iframe'), {src: place + '/frame'}))"),
    LeakClass(name="window", fate="blocked", script="window.open(places[0] + '/window')"),
    LeakClass(
        name="form",
        fate="blocked",
        script=FRAME + "('form'), {method: 'post', action: places[0] + '/form'})); document.forms[0].submit()",
    ),
    LeakClass(name="worker script", fate="blocked", script="new Worker('/unrecorded-worker.js')"),
    LeakClass(name="fetch of a worker", fate="blocked", script=in_worker(EACH + "fetch(place + '/w').catch(() => 0)")),
    LeakClass(
        name="WebSocket of a worker",
        fate="reported",
        script=in_worker(EACH + "new WebSocket(place.replace('http', 'ws') + '/w')"),
    ),
    LeakClass(
        name="fetch of a shared worker",
        fate="blocked",
        script="new SharedWorker(blob(`" + EACH + "fetch(place + '/shared').catch(() => 0)`))",
    ),
    LeakClass(
        name="service worker", fate="silent", script="navigator.serviceWorker?.register('/sw.js').catch(() => 0)"
    ),
    LeakClass(
        name="fetchLater",
        fate="blocked",
        script=EACH + "window.fetchLater?.(place.replace('http:', 'https:') + '/later', {activateAfter: 0})",
    ),
    LeakClass(
        name="beacon of a page that goes away",
        fate="silent",
        script="addEventListener('pagehide', () => { "
        + EACH
        + "{ navigator.sendBeacon(place + '/gone', 'x'); fetch(place + '/gone', {keepalive: true}) } });"
        "addEventListener('visibilitychange', () => { "
        + EACH
        + "navigator.sendBeacon(place + '/hidden', 'x') }); location = 'about:blank'",
    ),
    LeakClass(
        name="image of a page that goes away",
        fate="reported",
        script="addEventListener('pagehide', () => { "
        + EACH
        + "new Image().src = place + '/i' }); location = 'about:blank'",
    ),
    LeakClass(
        name="speculation rules",
        fate="reported",
        script=FRAME + "('script'), {type: 'speculationrules', textContent: JSON.stringify({prefetch: "
        "[{urls: ['/prefetched'], eagerness: 'immediate'}]})}))",
    ),
    LeakClass(
        name="WebRTC over UDP",
        fate="silent",
        script="""{ const peer = new RTCPeerConnection({iceServers: places.map(place => (
            {urls: 'stun:' + new URL(place).host.replace(/:\\d+$/, '') + ':3478'}))});
          peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer)) }""",
    ),
    LeakClass(
        name="WebRTC over TCP",
        fate="reported",
        script="""{ const peer = new RTCPeerConnection({iceServers: places.map(place => (
            {urls: 'turn:' + new URL(place).host.replace(/:\\d+$/, '') + ':3478?transport=tcp',
             username: 'a', credential: 'b'}))});
          peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer)) }""",
    ),
    LeakClass(
        name="WebTransport",
        fate="silent",
        script=EACH
        + "new WebTransport(place.replace('http:', 'https:').replace(/:\\d*$/, '') + ':4433/t').ready.catch(() => 0)",
    ),
    LeakClass(
        name="report of a policy",
        fate="blocked",
        script="document.head.insertAdjacentHTML('beforeend', '<img src=data:image/png,>')",
    ),
)
