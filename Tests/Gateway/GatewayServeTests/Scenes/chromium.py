# A headless Chromium, by the DevTools protocol.
import base64
import fcntl
import json
import os
import select
import subprocess
import time

QUIET = ("--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking --disable-sync "
         "--disable-component-update --disable-default-apps --disable-extensions --disable-domain-reliability --no-pings "
         "--no-proxy-server --hide-scrollbars --lang=en-GB").split()
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27}


class Chromium:
    """A browser with one page. It has a minute for each step."""

    def __init__(self, folder):
        self.folder, self.received, self.number, self.complaints = folder, b"", 0, []
        os.makedirs(folder, exist_ok=True)
        environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder, "TZ": "UTC"}
        asking, answering = os.pipe(), os.pipe()
        # Above those that it will read and write at, 3 and 4.
        theirs = [fcntl.fcntl(asking[0], fcntl.F_DUPFD, 10), fcntl.fcntl(answering[1], fcntl.F_DUPFD, 10)]
        self.ours = [fcntl.fcntl(asking[1], fcntl.F_DUPFD_CLOEXEC, 10), fcntl.fcntl(answering[0], fcntl.F_DUPFD_CLOEXEC, 10)]

        def place():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        with open(folder + "/log", "wb") as log:
            self.process = subprocess.Popen(
                ["chromium", *QUIET, "--user-data-dir=" + folder + "/data", "--remote-debugging-pipe", "about:blank"], env=environment,
                preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stderr=log)
        self.session = None
        page = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.ours[0], json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            while b"\0" in self.received:
                text, self.received = self.received.split(b"\0", 1)
                answer = json.loads(text)
                if answer.get("id") == self.number:
                    if "error" in answer:
                        raise RuntimeError(f"{method}: {answer['error']}")
                    return answer["result"]
                # Violations of the page's own policy, and errors of its script.
                if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                    self.complaints.append(answer["params"])
            if select.select([self.ours[1]], [], [], 0.2)[0]:
                self.received += os.read(self.ours[1], 1 << 16)
        raise RuntimeError(f"{method}: no answer in time")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression[:200]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.value(expression):
                return
            time.sleep(0.05)
        raise RuntimeError(f"not in time: {expression}; the page says: {self.value('document.body.innerText')}")

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        # The page's script hears of it before the next frame.
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def press(self, key):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], **text)

    def type(self, text):
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def tap(self, selector):
        """As a finger does: what lies at the middle of the element gets it."""
        place = self.value(f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{block: 'nearest'}});"
                           " const box = one.getBoundingClientRect(); return {x: box.x + box.width / 2, y: box.y + box.height / 2}; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def picture(self, name, selector="body"):
        """A part of the page; `None`: what is in the window."""
        box = selector and self.value(f"(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();"
                         " return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1}; })()")
        part = {"clip": box, "captureBeyondViewport": selector == "body"} if box else {}
        data = self.call("Page.captureScreenshot", format="png", **part)["data"]
        with open(f"{self.folder}/{name}.png", "wb") as file:
            file.write(base64.b64decode(data))
