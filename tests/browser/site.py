"""A small shop on loopback, and what it was asked for."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

SHOP = """<title>Shop</title><h1>Shop</h1><form action="/found"><label>Name <input name="q"></label></form>
<label>Colour <select><option>red<option>blue</select></label>
<button onclick="alert('Sold out'); document.getElementById('said').textContent = 'clicked ' + confirm('Sure?')">Buy
</button> <button onclick="window.open('/terms')">Terms</button> <button>Twice</button> <button>Twice</button>
<p id=said></p><p id=key></p><script>
onkeydown = e => { document.getElementById('key').textContent = 'pressed ' + e.key }
document.cookie = 'visited=yes'
</script><div style="height:2000px;background:linear-gradient(red,blue)"></div><p>The end of the shop</p>"""

# What a page may try: each is told in words on the page.
TRIES = """<title>Tries</title><ul id=tried></ul><script>
const told = text => { const one = document.createElement('li'); one.textContent = text; tried.append(one) }
Promise.all(%s.map(async url => { try { const answer = await fetch(url, {mode: 'no-cors', cache: 'no-store'});
  const img = new Image(); told(`${url} ${answer.type}`) } catch (e) { told(`${url} failed`) } }))
  .then(() => told('all tried'))</script>"""


class Site:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.pages: dict[str, bytes] = {
            "/": SHOP.encode(),
            "/terms": b"<title>Terms</title><h1>Terms of use</h1>",
            "/big": b"<title>Big</title>" + b"<p>" + b"word " * 1_000_000 + b"</p>",
        }
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.asked.append(self.path)
                place = urlsplit(self.path)
                page = site.pages.get(place.path)
                if place.path == "/found":
                    page = f"<title>Found</title><h1>Found {parse_qs(place.query)['q'][0]}</h1>".encode()
                if place.path == "/cookies":
                    page = f"<title>Cookies</title><p>{self.headers.get('cookie', 'no cookies')}</p>".encode()
                self.send_response(200 if page else 404)
                if place.path == "/file":
                    self.send_header("content-disposition", "attachment; filename=x.bin")
                page = page or b"<h1>Nothing here</h1>"
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: Any) -> None:
                """Nothing is written."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.place = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.place}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
