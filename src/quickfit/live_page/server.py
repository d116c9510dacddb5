"""Serves live pages to browsers on this machine that know the address.

Every address begins with a secret. Another user of the machine, a page of another site and a name
that was made to point here get an empty answer. Nothing can be changed through it: there is only
GET, and a run is looked up by its name in the list of runs.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import secrets
import socket
import time
import urllib.parse
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from quickfit.errors import UsageError
from quickfit.live_page.feed import TICK_S, RunFeed
from quickfit.live_page.runs import SeenRun, list_runs, look_at_run
from quickfit.report import text
from quickfit.report.page import render_live_page

LOOPBACK = "127.0.0.1"
# The names that a browser on this machine, or at the end of a tunnel, calls it by.
OWN_NAMES = frozenset(("127.0.0.1", "localhost", "[::1]"))
MAX_PAGES = 32
# How often the list of runs is read again.
LIST_S = 2.0
# A connection on which nothing comes is taken for dead by what lies between.
ALIVE_S = 15.0
# How long pages have to take in what is sent last: a drawing first, and just a word.
LAST_DRAWING_S, FAREWELL_S = 12.0, 2
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class PageServer:
    """The server of live pages, on a free port of the loopback.

    Args:
        home: the folder with the runs.
        chosen: the run that is shown unless another is asked for; None for the newest.
        port: where to listen; 0 for a free one.
        farewell: what open pages say when the server ends.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(
        self,
        home: Path,
        chosen: Path | None,
        *,
        port: int = 0,
        farewell: str = "quickfit watch was stopped; this is what was seen last",
    ) -> None:
        self._home, self._chosen = home, chosen
        self.farewell = farewell
        self._token = secrets.token_urlsafe(32)
        self._feeds: dict[Path, RunFeed] = {}
        self._runs: list[SeenRun] = []
        self._listed_s = -1e9
        self._drawer = ThreadPoolExecutor(1, thread_name_prefix="quickfit-drawing")
        self._drawing: set[Path] = set()
        self._pages = 0
        self._is_over = False
        self._page, self._policy = render_live_page()
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        self.address = f"http://{LOOPBACK}:{self.port}/{self._token}/"
        routes = [
            Route("/favicon.ico", lambda request: Response(status_code=204)),
            Route("/{token}/", self._show_page),
            Route("/{token}/events", self._show_events),
        ]
        # Without a lifespan, an error log and an access log: that one would hold the token.
        self.app = Starlette(routes=routes)
        config = uvicorn.Config(
            self.app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=FAREWELL_S,
        )
        self._server = uvicorn.Server(config)

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return self._pages

    def serve(self) -> None:
        """Serve until `stop`, or until a signal asks for the end."""
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            return
        finally:
            self.close()

    def close(self) -> None:
        """Give back the port."""
        self._drawer.shutdown(wait=False, cancel_futures=True)
        self._socket.close()

    def stop(self) -> None:
        """End it, from another thread than that of `serve`. Pages get the last drawing first."""
        self._is_over = True
        until_s = time.monotonic() + LAST_DRAWING_S
        while self._pages and time.monotonic() < until_s:
            time.sleep(0.02)
        self._server.should_exit = True

    def move(self, folder: Path) -> None:
        """Show the chosen run from where its recording lies now."""
        self._home, self._chosen = folder.parent, folder
        self._listed_s = -1e9

    # -- requests -----------------------------------------------------------------------------

    def _is_ours(self, request: Request) -> bool:
        """Tell whether who asks knows the secret, and asks from a page of ours."""
        given = request.path_params["token"].encode()
        knows = secrets.compare_digest(given, self._token.encode())
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        origin = request.headers.get("origin")
        return knows and name.lower() in OWN_NAMES and origin in (None, f"http://{host}")

    async def _show_page(self, request: Request) -> Response:
        if not self._is_ours(request):
            return _refused()
        headers = {
            **HEADERS,
            "Content-Security-Policy": f"{self._policy}; frame-ancestors 'none'",
        }
        return HTMLResponse(self._page, headers=headers)

    async def _show_events(self, request: Request) -> Response:
        if not self._is_ours(request):
            return _refused()
        if self._pages >= MAX_PAGES:
            return Response("too many pages are open", 503, headers=HEADERS)
        asked = request.query_params.get("run", "")
        return StreamingResponse(
            self._events(asked), media_type="text/event-stream", headers=HEADERS
        )

    async def _events(self, asked: str) -> AsyncIterator[str]:
        self._pages += 1
        loop = asyncio.get_running_loop()
        shown: Path | None = None
        version, said, spoke_s = -1, "", loop.time()
        try:
            yield "retry: 2000\n\n"
            while True:
                draws = self._is_over
                is_over = draws or self._server.should_exit
                folder, feed, status = await asyncio.to_thread(self._state, asked, draws)
                if folder != shown:
                    shown, version = folder, -1
                    yield _event("run", {"name": folder.name if folder is not None else ""})
                if status != said:
                    said, spoke_s = status, loop.time()
                    yield f"event: status\ndata: {status}\n\n"
                if feed is not None and feed.version != version and feed.drawing is not None:
                    version, spoke_s = feed.version, loop.time()
                    yield _event("page", dataclasses.asdict(feed.drawing))
                if is_over:
                    yield _event("bye", {"label": self.farewell})
                    return
                if loop.time() - spoke_s > ALIVE_S:
                    spoke_s = loop.time()
                    yield ": alive\n\n"
                await asyncio.sleep(TICK_S)  # at most so often is anything sent
        finally:
            self._pages -= 1

    # -- what is shown --------------------------------------------------------------------------

    def _state(self, asked: str, is_last: bool) -> tuple[Path | None, RunFeed | None, str]:
        """Return what there is to say now: the run, its feed, and the line above it."""
        now = time.monotonic()
        if now - self._listed_s >= LIST_S:
            self._listed_s = now
            self._runs = list_runs(self._home)
            if self._chosen is not None and all(r.folder != self._chosen for r in self._runs):
                self._runs.insert(0, look_at_run(self._chosen))
        run = self._wanted(asked)
        if run is None:
            line = {"state": "starting", "label": _nothing_yet(self._home, asked), "progress": ""}
            return None, None, json.dumps({**line, "runs": self._menu(None, asked)})
        feed = self._feeds.setdefault(run.folder, RunFeed(run.folder))
        status = dataclasses.asdict(feed.status())
        if is_last and feed.is_due:
            feed.draw()
        elif feed.is_due and run.folder not in self._drawing:
            self._drawing.add(run.folder)
            job = self._drawer.submit(feed.draw)
            job.add_done_callback(lambda _: self._drawing.discard(run.folder))
        return run.folder, feed, json.dumps({**status, "runs": self._menu(run, asked)})

    def _wanted(self, asked: str) -> SeenRun | None:
        if asked:
            return next((run for run in self._runs if run.name == asked), None)
        if self._chosen is not None:
            return next((run for run in self._runs if run.folder == self._chosen), None)
        return self._runs[0] if self._runs else None

    def _menu(self, shown: SeenRun | None, asked: str) -> list[dict[str, object]]:
        newest = "the newest run" if self._chosen is None else "the run that was asked for"
        menu: list[dict[str, object]] = [
            {
                "label": newest,
                "detail": "changes by itself" if self._chosen is None else "",
                "query": "?",
                "isShown": not asked,
            }
        ]
        for run in self._runs:
            query = f"?run={urllib.parse.quote(run.name)}"
            is_shown = bool(asked) and shown is not None and run.folder == shown.folder
            menu.append(
                {"label": run.script, "detail": run.detail, "query": query, "isShown": is_shown}
            )
        return menu


def _nothing_yet(home: Path, asked: str) -> str:
    if asked:
        return f"there is no run {text.one_line(asked, limit=80)} here any more"
    return f"no run yet in {text.path(str(home))}; it is shown as soon as there is one"


def _event(kind: str, content: dict[str, object]) -> str:
    return f"event: {kind}\ndata: {json.dumps(content)}\n\n"


def _refused() -> Response:
    return Response(status_code=404, headers=HEADERS)


def _bound(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, port))
        bound.listen()  # a browser that comes early waits
    except OSError as error:
        bound.close()
        raise UsageError(
            f"--port {port}: it cannot be listened on ({error.strerror}).\n"
            "Name another one, or leave it out for a free one."
        ) from error
    return bound
