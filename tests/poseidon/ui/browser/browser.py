"""Headless Chromium by the DevTools protocol: just what the tests of the page need."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Self, cast

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from tests.support.time_limits import stretch
from tests.support.waiting import until

KEYS = {
    "Enter": ("\r", 13),
    "Escape": ("", 27),
    "Tab": ("\t", 9),
    "Home": ("", 36),
    "End": ("", 35),
    "PageDown": ("", 34),
    "ArrowLeft": ("", 37),
    "ArrowUp": ("", 38),
    "ArrowRight": ("", 39),
    "ArrowDown": ("", 40),
}
APART = (
    "BackForwardCache",
    "IsolateOrigins",
    "ProactivelySwapBrowsingInstance",
    "SpareRendererForSitePerProcess",
    "site-per-process",
)
ONE_PROCESS = (
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    f"--disable-features={','.join(APART)}",
)
"""Pages follow each other in one process; with one for each, tests take two thirds more of a core."""

NOTHING_ELSE = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
)
"""What a browser for people does besides."""

WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


def program() -> str | None:
    """Where Chromium is, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


class Page:
    """One tab. ``requests``: all addresses asked for; ``complaints``: errors on the console and of scripts."""

    def __init__(self, browser: Browser, session: str, context: str) -> None:
        self._browser, self._session, self._context = browser, session, context
        self.origin = ""
        self._blank = True
        self.requests: list[str] = []
        self.complaints: list[str] = []

    async def call(self, method: str, **params: Any) -> Any:
        return await self._browser.call(method, params, self._session)

    def heard(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(str(details.get("exception", details).get("description", details["text"])))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "assert"}:
            self.complaints.append(str([each.get("value") for each in params["args"]]))

    async def begin(self, origin: str) -> None:
        """Forget what was heard, set and pointed at before, for pages of an origin."""
        await self.call("Log.enable")
        await self.look()
        await self.move(0, 0)
        self.origin = origin
        self.requests.clear()
        self.complaints.clear()

    async def leave(self) -> None:
        """Show nothing any more, so that nobody asks a server that ends."""
        if not self._blank:
            await self.call("Page.navigate", url="about:blank")
            self._blank = True

    async def open(self, path: str) -> None:
        """Load the page anew at a hash, and wait until it shows data."""
        await self.leave()
        self._blank = False
        await self.call("Page.navigate", url=self.origin + path)
        await self.until("!!document.querySelector('main h1') && !document.querySelector('.bone')", 30)

    async def close(self) -> None:
        await self._browser.call("Target.disposeBrowserContext", {"browserContextId": self._context})

    async def value(self, expression: str) -> Any:
        """What an expression, or the promise that it is, comes to. Raises ``AssertionError`` if it throws."""
        answer = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, expression: str, seconds: float = 10) -> Any:
        """Wait for an expression to be true. Raises ``AssertionError``, with the page's text, if it never is."""

        async def found() -> Any:
            try:
                return await self.value(expression)
            except AssertionError:  # between two documents
                return None

        try:
            return await until(found, within=seconds, what=expression)
        except AssertionError as error:
            text = await self.value("document.body.innerText.slice(0, 1500)")
            raise AssertionError(f"{error}\n{self.complaints}\n{text}") from None

    async def painted(self) -> None:
        """Wait until what has happened is painted: a frame begins after it, and another one after that."""
        await self.value(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        )

    async def shows(self, *texts: str, seconds: float = 10) -> None:
        """Wait until the page has all of some texts."""
        every = f"{json.dumps(texts)}.every((each) => shown.includes(each))"
        await self.until(f"((shown) => {every})(document.body.innerText)", seconds)

    async def click(self, selector: str, text: str = "") -> None:
        """Click the first element of a selector that has a text, with the mouse, where it is."""
        find = (
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            f".find((each) => each.textContent.includes({json.dumps(text)}))"
        )
        await self.until(f"!!{find}")
        await self.value(f"{find}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = await self.value(f"{find}.getBoundingClientRect().toJSON()")
        await self.press_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    async def move(self, x: float, y: float) -> None:
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    async def press_at(self, x: float, y: float) -> None:
        await self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def key(self, name: str) -> None:
        text, code = KEYS.get(name, (name, ord(name[0])))
        common = {"key": name, "windowsVirtualKeyCode": code, "code": name}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def look(self, *, width: int = 1440, height: int = 900, dark: bool = True) -> None:
        """Set the window's size and the system's preference."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def picture(self) -> bytes:
        """What is in the window, as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])

    async def measures(self) -> dict[str, float]:
        """Figures of the tab after a collection of garbage, such as ``JSHeapUsedSize`` and ``Nodes``."""
        for _ in range(3):
            await self.call("HeapProfiler.collectGarbage")
        return {
            each["name"]: each["value"] for each in (await self.call("Performance.getMetrics"))["metrics"]
        }


class Browser:
    """A running Chromium; an asynchronous context that ends it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, Page] = {}
        self._next = 0

    async def __aenter__(self) -> Self:
        found = program()
        assert found is not None
        arguments = ["--headless=new", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"]
        arguments += [f"--user-data-dir={self._folder.name}", "--disable-dev-shm-usage", "--hide-scrollbars"]
        arguments += [*ONE_PROCESS, *NOTHING_ELSE]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        quiet = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(found, *arguments, stdout=quiet, stderr=quiet)
        file = Path(self._folder.name) / "DevToolsActivePort"
        said = await until(
            lambda: file.exists() and len(lines := file.read_text().split()) == 2 and lines,
            within=30,
            what="Chromium",
        )
        lines = cast("list[str]", said)
        self._http = ClientSession()
        address = f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        self._socket: ClientWebSocketResponse = await self._http.ws_connect(address, max_msg_size=0)
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reader.cancel()
        await self._socket.close()
        await self._http.close()
        self._process.terminate()
        await self._process.wait()
        self._folder.cleanup()

    async def _read(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                break
            said = json.loads(message.data)
            if "id" in said:
                answer = self._answers.pop(said["id"])
                if not answer.done():
                    answer.set_result(said)
            elif page := self._pages.get(said.get("sessionId", "")):
                page.heard(said["method"], said["params"])

    async def call(self, method: str, params: dict[str, Any], session: str = "") -> Any:
        self._next += 1
        answer = self._answers[self._next] = asyncio.get_running_loop().create_future()
        message = {"id": self._next, "method": method, "params": params}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        said = await asyncio.wait_for(answer, stretch(60))
        assert "error" not in said, f"{method}: {said.get('error')}"
        return said["result"]

    async def page(self) -> Page:
        """A new tab with a profile of its own."""
        context = (await self.call("Target.createBrowserContext", {}))["browserContextId"]
        target = await self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})
        attached = await self.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"], context)
        for part in ("Page", "Runtime", "Network", "Log", "Performance"):
            await page.call(f"{part}.enable")
        await page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        await page.look()
        return page
