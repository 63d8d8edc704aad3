#!/usr/bin/python3
# A person at the gateway's page, in a headless Chromium by the DevTools protocol: adds a device, looks at the administrators' views, and
# removes the device. Prints the file of the device that the page showed.
#
# browser.py FOLDER URL DEVICE    FOLDER: the browser's home; pictures of the page go there
import base64
import fcntl
import json
import os
import select
import subprocess
import sys
import time

folder, url, device = sys.argv[1:]
quiet = ("--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking --disable-sync "
         "--disable-component-update --disable-default-apps --disable-extensions --disable-domain-reliability --no-pings "
         "--no-proxy-server --hide-scrollbars --lang=en-GB").split() + ["--user-data-dir=" + folder + "/data"]
os.makedirs(folder, exist_ok=True)
environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder, "TZ": "UTC"}
asking, answering = os.pipe(), os.pipe()
# Above those that it will read and write at, 3 and 4.
theirs = [fcntl.fcntl(asking[0], fcntl.F_DUPFD, 10), fcntl.fcntl(answering[1], fcntl.F_DUPFD, 10)]
ours = [fcntl.fcntl(asking[1], fcntl.F_DUPFD_CLOEXEC, 10), fcntl.fcntl(answering[0], fcntl.F_DUPFD_CLOEXEC, 10)]


def place():
    os.dup2(theirs[0], 3)
    os.dup2(theirs[1], 4)


browser = subprocess.Popen(["chromium", *quiet, "--remote-debugging-pipe", "about:blank"], env=environment, preexec_fn=place, close_fds=False,
                           stdin=subprocess.DEVNULL, stderr=open(folder + "/log", "wb"))
end = time.monotonic() + 90
received, number, complaints = b"", 0, []


def send(method, session=None, **parameters):
    global number
    number += 1
    message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
    os.write(ours[0], json.dumps(message).encode() + b"\0")
    return number


def call(method, session=None, **parameters):
    global received
    asked = send(method, session, **parameters)
    while time.monotonic() < end:
        while b"\0" in received:
            text, received = received.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == asked:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            # What the page's own policy forbids, and errors of its script.
            if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                complaints.append(answer["params"])
            if answer.get("method") == "Page.javascriptDialogOpening":
                send("Page.handleJavaScriptDialog", answer["sessionId"], accept=True)
        if select.select([ours[1]], [], [], 0.2)[0]:
            received += os.read(ours[1], 1 << 16)
    raise RuntimeError(f"{method}: no answer in time")


def value(expression):
    result = call("Runtime.evaluate", session, expression=expression, returnByValue=True)
    if "exceptionDetails" in result:
        raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
    return result["result"].get("value")


def wait_for(expression):
    while time.monotonic() < end:
        if value(expression):
            return
        time.sleep(0.05)
    raise RuntimeError(f"not in time: {expression}; the page says: {value('document.body.innerText')}")


def picture(name, selector="body"):
    box = value(f"(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();"
                " return {x: box.x, y: box.y, width: box.width, height: box.height, scale: 1}; })()")
    data = call("Page.captureScreenshot", session, format="png", clip=box)["data"]
    with open(f"{folder}/{name}.png", "wb") as file:
        file.write(base64.b64decode(data))


try:
    page = next(one for one in call("Target.getTargets")["targetInfos"] if one["type"] == "page")
    session = call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
    for domain in ("Page", "Log", "Runtime"):
        call(domain + ".enable", session)
    call("Emulation.setDeviceMetricsOverride", session, width=980, height=1200, deviceScaleFactor=1, mobile=False)
    call("Page.navigate", session, url=url)
    wait_for("document.querySelectorAll('#mine tbody tr').length > 0")
    assert "(this one)" in value("document.querySelector('#mine').innerText")

    value(f"document.querySelector('#add input').value = '{device}'; document.querySelector('#add button').click()")
    wait_for("document.querySelector('#code svg') !== null")
    text = value("document.querySelector('#file').textContent")
    wait_for(f"[...document.querySelectorAll('#mine tbody td')].some(one => one.textContent === '{device}')")
    assert value("document.querySelector('#message').hidden"), value("document.querySelector('#message').textContent")
    assert value("document.querySelector('#save').download") == device + ".conf"
    picture("page")
    picture("code", "#code")

    value("document.querySelector('[data-tab=devices]').click()")
    wait_for("document.querySelectorAll('#devices tbody tr').length >= 3")
    assert "bob/laptop" in value("document.querySelector('#devices').innerText")
    picture("administrator")
    # A session has one button, and none once it was ended.
    button = "[...document.querySelectorAll('#devices tbody button')]"
    assert value(f"{button}.map(one => one.closest('tr').cells[0].textContent).join()") == "bob/tablet"
    value(f"setTimeout(() => {button}[0].click()); true")
    wait_for(f"{button}.length === 0 && document.querySelector('#devices').innerText.includes('session ended')")
    value("document.querySelector('[data-tab=groups]').click()")
    wait_for("document.querySelector('#group-list').innerText.includes('admins')")
    value("document.querySelector('[data-tab=access]').click(); document.querySelector('#question [name=user]').value = 'bob';"
          "document.querySelector('#question [name=to]').value = '203.0.113.2:443'; document.querySelector('#question button').click()")
    wait_for("document.querySelector('#decision').className === 'denied'")
    value("document.querySelector('[data-tab=audit]').click()")
    wait_for("document.querySelector('#audit').innerText.includes('page alice/laptop')")

    value("document.querySelector('[data-tab=mine]').click()")
    remove = f"[...document.querySelectorAll('#mine tbody tr')].find(one => one.cells[0].textContent === '{device}')"
    # The question that the page asks is answered from outside of its script.
    value(f"setTimeout(() => {remove}.querySelector('button').click()); true")
    wait_for(f"{remove} === undefined")
    assert not complaints, complaints
    print(text, end="")
finally:
    browser.kill()
    browser.wait()
