"""Names that try to run: as tokens, labels, players and methods. One that ran would set `window.hit` or open a dialog."""

from __future__ import annotations

CODE = "window.hit=1;alert(1)"
ELEMENTS = (
    f"<script>{CODE}</script>",
    f"</script><script>{CODE}</script>",
    f"</style><script>{CODE}</script>",
    f"</title><script>{CODE}</script>",
    f"</textarea><script>{CODE}</script>",
    f"<!--><script>{CODE}</script>-->",
    f"]]><script>{CODE}</script>",
    f"<img src=x onerror={CODE}>",
    f"<svg onload={CODE}>",
    f"<svg><script>{CODE}</script></svg>",
    f"<svg><animate onbegin={CODE} attributeName=x dur=1s>",
    f"<body onload={CODE}>",
    f"<input autofocus onfocus={CODE}>",
    f"<details open ontoggle={CODE}>",
    f"<video><source onerror={CODE}>",
    f"<iframe srcdoc='<script>parent.{CODE}</script>'>",
    f"<a href='javascript:{CODE}'>x</a>",
    f"<math><a xlink:href='javascript:{CODE}'>x",
    f"<object data='javascript:{CODE}'>",
    "<link rel=stylesheet href=http://evil.invalid/x.css>",
    "<img src=http://evil.invalid/x.png>",
    "<style>@import 'http://evil.invalid/x.css'</style>",
    "<base href=http://evil.invalid/>",
    "<meta http-equiv=refresh content='0;url=http://evil.invalid/'>",
    "<form action=http://evil.invalid/><button>x",
)
BREAKS = (
    f'" onmouseover="{CODE}',
    f"' onmouseover='{CODE}",
    f'" autofocus onfocus="{CODE}" x="',
    f"` onmouseover=`{CODE}",
    f'">{ELEMENTS[0]}',
    f"'>{ELEMENTS[0]}",
    f'"/>{ELEMENTS[7]}',
    f"\\\";{CODE}//",
    f"';{CODE}//",
    f"`${{{CODE}}}`",
    f"javascript:{CODE}",
    f"data:text/html,<script>{CODE}</script>",
    f"{{{{constructor.constructor('{CODE}')()}}}}",
    "&lt;script&gt;", "&#60;script&#62;", "&amp;", "&", "<", ">", '"', "'", "`", "\\", "%3Cscript%3E",
)  # fmt: skip
CHARACTERS = (
    "\u2028",
    "\u2029",
    "\u202e",
    "\u202d",
    "\u2066",
    "\u2067",
    "\u2069",
    "\u200f",
    "\u200e",
    "\ufeff",
    "\u0000",
    "\u001b[31m",
    "\u0007",
    "\u0008",
    "\r",
    "\t",
    "\x7f",
    "\u0085",
    "\u00a0",
    "\u200b",
    "\U000e0041",
    "e\u0301" * 20,
    "𝒳",
    "漢字",
    "עברית",
    "🤷🏽‍♀️",
)


def corpus() -> list[str]:
    """At least 200 distinct hostile names: every payload alone, and wrapped in characters that confuse readers and parsers."""
    payloads = [*ELEMENTS, *BREAKS]
    mixed = [f"{payload}{c}" for payload in payloads[::3] for c in CHARACTERS[:5]]
    upper = [payload.upper().replace("WINDOW.HIT=1;ALERT(1)", CODE) for payload in ELEMENTS]
    split = [f"{payload[:5]}{c}{payload[5:]}" for payload in ELEMENTS for c in ("\u2028", "\u0000", "\n")]
    return list(dict.fromkeys([*payloads, *CHARACTERS, *mixed, *upper, *split]))
