"""The table of leak classes, each with the script that tries it.

A script is the body of an async function of ``to``: ``to.http``, ``to.ws``, ``to.https`` (URLs without a trailing
slash), ``to.host``, ``to.port``; and ``to.own(path)``, the URL of a file of this site that has the target too. It may
use ``insert_step(tag, properties)``, ``frame(properties)``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakClass:
    """One way in which a request can leave the browser."""

    name: str
    script: str
    leaves: bool = False
    """Whether trying it leaves the page."""
    reaches: bool = True
    """Whether an unguarded headless shell reaches a loopback port this way. The others need a name to resolve, a full
    browser (preconnect, prerendering, favicons), a minute (reports), or no longer reach anything."""


def _ways(*rows: tuple[str, str]) -> tuple[LeakClass, ...]:
    return tuple(LeakClass(name=name, script=script) for name, script in rows)


_SCRIPTED = _ways(
    ("fetch", "await fetch(`${to.http}/x`, { mode: 'no-cors' })"),
    ("fetch-cors", "await fetch(`${to.http}/x`, { method: 'PUT', headers: { 'X-Leak': 'yes' } })"),
    ("fetch-keepalive", "await fetch(`${to.http}/x`, { mode: 'no-cors', keepalive: true })"),
    ("fetch-later", "fetchLater(`${to.http}/x`, { activateAfter: 0 })"),
    ("xhr", "const x = new XMLHttpRequest(); x.open('GET', `${to.http}/x`); x.send()"),
    ("xhr-sync", "const x = new XMLHttpRequest(); x.open('GET', `${to.http}/x`, false); x.send()"),
    ("beacon", "navigator.sendBeacon(`${to.http}/x`, 'leak')"),
    ("websocket", "new WebSocket(`${to.ws}/x`)"),
    ("event-source", "new EventSource(`${to.http}/x`)"),
    ("import", "await import(`${to.http}/x.js`)"),
    ("ping", "const a = insert('a', { href: '#here', ping: `${to.http}/x`, textContent: 'ping' }); a.click()"),
    ("web-transport", "new WebTransport(`${to.https}/x`)"),
    (
        "webrtc-stun",
        (
            "const c = new RTCPeerConnection({ iceServers: [{ urls: `stun:${to.host}:${to.port}` }] });"
            " c.createDataChannel('x'); await c.setLocalDescription()"
        ),
    ),
    (
        "webrtc-turn-tcp",
        (
            "const c = new RTCPeerConnection({ iceServers: [{ urls: `turn:${to.host}:${to.port}?transport=tcp`,"
            " username: 'u', credential: 'c' }] }); c.createDataChannel('x'); await c.setLocalDescription()"
        ),
    ),
    (
        "webrtc-host-candidate",
        (
            "const c = new RTCPeerConnection(); c.createDataChannel('x'); await c.setLocalDescription();"
            " await c.setRemoteDescription({ type: 'answer', sdp: c.localDescription.sdp"
            ".replace('a=setup:actpass', 'a=setup:active').replace(/a=ice-ufrag:.*/, 'a=ice-ufrag:leak')"
            ".replace(/a=ice-pwd:.*/, 'a=ice-pwd:leakleakleakleakleakleak') });"
            " await c.addIceCandidate({ sdpMid: '0', candidate: `candidate:1 1 udp 2113937151 ${to.host} ${to.port}"
            " typ host` })"
        ),
    ),
)

_PARTS = _ways(
    ("image", "new Image().src = `${to.http}/x.png`"),
    ("image-srcset", "insert('img', { srcset: `${to.http}/x.png 1x` })"),
    ("svg-image", "document.body.insertAdjacentHTML('beforeend', `<svg><image href='${to.http}/x.png'/></svg>`)"),
    ("script", "insert('script', { src: `${to.http}/x.js` })"),
    ("style-sheet", "insert('link', { rel: 'stylesheet', href: `${to.http}/x.css` })"),
    ("css-import", "insert('style', { textContent: `@import '${to.http}/x.css'` })"),
    ("css-background", "insert('p', { textContent: 'x', style: `background: url(${to.http}/x.png)` })"),
    ("css-font", "await new FontFace('Leak', `url(${to.http}/x.ttf)`).load()"),
    ("css-cursor", "insert('p', { style: `cursor: url(${to.http}/x.cur), auto` })"),
    ("video", "insert('video', { src: `${to.http}/x.mp4` })"),
    ("audio", "new Audio(`${to.http}/x.mp3`).load()"),
    ("object", "insert('object', { data: `${to.http}/x` })"),
    ("embed", "insert('embed', { src: `${to.http}/x`, type: 'text/html' })"),
    ("preload", "insert('link', { rel: 'preload', as: 'image', href: `${to.http}/x.png` })"),
    ("module-preload", "insert('link', { rel: 'modulepreload', href: `${to.http}/x.js` })"),
    ("prefetch", "insert('link', { rel: 'prefetch', href: `${to.http}/x` })"),
    ("link-header", "frame({ src: to.own('link_header') })"),
    ("paint-worklet", "await CSS.paintWorklet.addModule(`${to.http}/x.js`)"),
    ("audio-worklet", "await new OfflineAudioContext(1, 1, 8000).audioWorklet.addModule(`${to.http}/x.js`)"),
)

_WORKERS = _ways(
    ("worker-fetch", "new Worker(to.own('worker.js?do=fetch'))"),
    ("worker-websocket", "new Worker(to.own('worker.js?do=websocket'))"),
    ("worker-event-source", "new Worker(to.own('worker.js?do=event-source'))"),
    ("worker-xhr", "new Worker(to.own('worker.js?do=xhr'))"),
    ("worker-import-scripts", "new Worker(to.own('worker.js?do=import-scripts'))"),
    ("worker-import", "new Worker(to.own('worker.js?do=import'), { type: 'module' })"),
    ("worker-nested", "new Worker(to.own('worker.js?do=nested'))"),
    ("worker-blob-fetch", "new Worker(blob(`fetch('${to.http}/x', { mode: 'no-cors' })`))"),
    ("worker-blob-websocket", "new Worker(blob(`new WebSocket('${to.ws}/x')`))"),
    (
        "worker-data-fetch",
        "new Worker(`data:text/javascript,${encodeURIComponent(`fetch('${to.http}/x', { mode: 'no-cors' })`)}`)",
    ),
    ("shared-worker-script", "new SharedWorker(to.own('worker.js?do=nothing'))"),
    ("shared-worker-fetch", "new SharedWorker(blob(`fetch('${to.http}/x', { mode: 'no-cors' })`))"),
    ("shared-worker-url-fetch", "new SharedWorker(to.own('worker.js?do=fetch'))"),
    ("shared-worker-websocket", "new SharedWorker(blob(`new WebSocket('${to.ws}/x')`))"),
    ("service-worker-script", "await navigator.serviceWorker.register(to.own('worker.js?do=nothing'))"),
    ("service-worker-fetch", "await navigator.serviceWorker.register(to.own('worker.js?do=fetch'))"),
)

_DOCUMENTS = _ways(
    ("iframe", "frame({ src: `${to.http}/x` })"),
    ("iframe-srcdoc", "frame({ srcdoc: `<img src='${to.http}/x.png'>` })"),
    ("iframe-sandboxed", "frame({ sandbox: 'allow-scripts', srcdoc: `<script>fetch('${to.http}/x')</` + 'script>' })"),
    (
        "iframe-written",
        (
            "const f = frame({}); f.contentDocument.write(`<iframe src='${to.http}/x'></iframe>`);"
            " f.contentDocument.close()"
        ),
    ),
    ("iframe-refresh", "frame({ src: to.own('refresh') })"),
    ("iframe-fetch-early", "frame({}).contentWindow.fetch(`${to.http}/x`, { mode: 'no-cors' })"),
    ("window-open", "window.open(`${to.http}/x`)"),
    ("window-fetch-early", "window.open('about:blank').fetch(`${to.http}/x`, { mode: 'no-cors' })"),
    ("link-blank", "insert('a', { href: `${to.http}/x`, target: '_blank', rel: 'noopener' }).click()"),
    ("form-post-frame", "frame({ name: 'f' }); form('f').submit()"),
    ("form-post-window", "form('_blank').submit()"),
    ("redirect-fetch", "await fetch(to.own('redirect'), { mode: 'no-cors' })"),
    ("redirect-image", "new Image().src = to.own('redirect')"),
    ("redirect-script", "insert('script', { src: to.own('redirect') })"),
    ("redirect-frame", "frame({ src: to.own('redirect') })"),
    ("redirect-window", "window.open(to.own('redirect'))"),
    ("redirect-worker-import", "new Worker(blob(`importScripts('${to.own('redirect')}')`))"),
    ("csp-report", "frame({ src: to.own('csp_report') })"),
    (
        "speculation-prefetch",
        (
            "insert('script', { type: 'speculationrules', textContent: JSON.stringify({ prefetch: [{ source: 'list',"
            " urls: [`${to.http}/x`], eagerness: 'immediate' }] }) })"
        ),
    ),
)

_LEAVING = tuple(
    LeakClass(name=name, script=script, leaves=True)
    for name, script in (
        ("link-download", "insert('a', { href: `${to.http}/x`, download: 'x' }).click()"),
        ("navigate", "location.href = `${to.http}/x`"),
        ("form-post", "form('_self').submit()"),
        ("redirect-document", "location.href = to.own('redirect')"),
        ("refresh", "location.href = to.own('refresh')"),
        (
            "unload-beacon",
            "addEventListener('pagehide', () => navigator.sendBeacon(`${to.http}/x`, 'bye')); location.href = '/left'",
        ),
        (
            "unload-fetch",
            (
                "addEventListener('pagehide', () => fetch(`${to.http}/x`, { mode: 'no-cors', keepalive: true }));"
                " location.href = '/left'"
            ),
        ),
        ("unload-fetch-later", "fetchLater(`${to.http}/x`); location.href = '/left'"),
    )
)

_CLOSED = tuple(
    LeakClass(name=name, script=script, reaches=False)
    for name, script in (
        ("preconnect", "insert('link', { rel: 'preconnect', href: to.http })"),
        (
            "speculation-prerender",
            (
                "insert('script', { type: 'speculationrules', textContent: JSON.stringify({ prerender:"
                " [{ source: 'list', urls: [to.own('fetching')], eagerness: 'immediate' }] }) })"
            ),
        ),
        ("dns-prefetch", "insert('link', { rel: 'dns-prefetch', href: to.http })"),
        ("favicon", "insert('link', { rel: 'icon', href: `${to.http}/x.ico` })"),
        ("manifest", "insert('link', { rel: 'manifest', href: `${to.http}/x.json` })"),
        ("source-map", "insert('script', { src: to.own('source_map.js') })"),
        ("reporting-api", "frame({ src: to.own('reporting') })"),
        ("shared-worker-redirect", "new SharedWorker(to.own('redirect'))"),
    )
)

CLASSES = (*_SCRIPTED, *_PARTS, *_WORKERS, *_DOCUMENTS, *_LEAVING, *_CLOSED)
