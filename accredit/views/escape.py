"""The one place where text becomes HTML, and data becomes a script-safe JSON island."""

from __future__ import annotations

import html
import json
from typing import Any

# Characters that end a line in JavaScript, or turn the reading direction of what follows, shown instead of obeyed.
_SHOWN = {
    ord(c): f"\\u{ord(c):04x}" for c in "\u2028\u2029\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}
_SHOWN |= {c: f"\\x{c:02x}" for c in range(32) if c not in (9, 10)}


def escape(text: object) -> str:
    """Text that is safe between tags and inside quoted attributes, whatever it holds.

    >>> escape('<script>"x"')
    '&lt;script&gt;&quot;x&quot;'
    """
    return html.escape(str(text).translate(_SHOWN), quote=True)


def island(data: Any) -> str:
    """JSON that is safe inside a `<script type="application/json">` element.

    >>> island("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
