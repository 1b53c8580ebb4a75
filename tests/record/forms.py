"""A page with every kind of element that agents act on."""

from __future__ import annotations

FORM = """
<input id=text aria-label=Name> <input id=box type=checkbox aria-label=Box> <button id=go>Go</button>
<select id=one aria-label=One><option value=a>Alpha</option><option value=b>Beta</option></select>
<select id=many aria-label=Many multiple><option value=a>Alpha</option><option value=b>Beta</option></select>
<p class=item>first</p><p class=item>second</p>
<div id=here draggable=true>take me</div><div id=there ondragover="event.preventDefault()">put it here</div>
"""
