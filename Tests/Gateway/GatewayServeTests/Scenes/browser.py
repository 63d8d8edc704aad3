#!/usr/bin/python3
# A person at the gateway's page, in a headless Chromium: adds a device, looks at the administrators' views, and removes the device. Each
# view is checked at three widths, in light and dark, with the keyboard, and by axe-core. Prints the file of the device that the page showed.
#
# browser.py FOLDER URL DEVICE AXE    FOLDER: the browser's home; pictures of the page go there. AXE: the file axe.min.js
import os
import sys

from chromium import Chromium

folder, url, device, axe_file = sys.argv[1:]
with open(axe_file, encoding="utf-8") as file:
    axe = file.read()
with open(os.path.dirname(os.path.abspath(__file__)) + "/reach.js", encoding="utf-8") as file:
    reach = file.read()
widths = [320, 420, 1200]
findings = []


def check(name):
    """Everything can be seen and reached at each width; axe-core finds nothing, and doubts nothing, in light and dark."""
    for width in widths:
        browser.resize(width)
        findings.extend(f"{name}, {width} pixels: {one}" for one in browser.value(reach))
    for scheme in ("dark", "light"):
        browser.prefer(scheme)
        for width in (widths[0], widths[-1]):
            browser.resize(width)
            # As texts: a node is no value for the protocol. It doubts the contrast of a dialog, which lies over the page: it has the
            # page's own colours.
            found = value(
                "axe.run(document).then((result) => [...result.violations, ...result.incomplete.filter((one) =>"
                " one.id !== 'color-contrast')].map((one) => `${one.id}: ${one.help}: ` + one.nodes.map((node) =>"
                " node.html.slice(0, 200) + ' ' + node.any.map((part) => part.message).join('; ')).join(', ')))")
            findings.extend(f"{name}, {scheme}, {width} pixels: {one}" for one in found)


def keep(name, link):
    """A link that the page shows, and its QR code as a picture."""
    with open(f"{folder}/{name}.link", "w", encoding="utf-8") as file:
        file.write(link + "\n")
    browser.picture(name, "#link-code")


def tab_through(scope):
    """How many controls there are, those that the tabulator reaches, by their place, and those whose focus is not seen."""
    count = browser.value(
        f"controls = [...{scope}.querySelectorAll('a[href], button, input, select, summary')].filter((one) => one.checkVisibility()"
        " && !one.disabled); controls.length")
    if scope == "document":
        browser.value("document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0)")
    reached, unseen = [], []
    for _ in range(2 * count + 4):
        browser.press("Tab")
        index, outline = browser.value(
            "(() => { const style = getComputedStyle(document.activeElement);"
            " return [controls.indexOf(document.activeElement), style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2]; })()")
        # Outside of the page.
        if index < 0:
            continue
        if index in reached:
            break
        if not outline:
            unseen.append(browser.value("document.activeElement.outerHTML"))
        reached.append(index)
    return count, reached, unseen


def tab_order(name, scope="document"):
    """The tabulator reaches every control once, in the order of the document, and the focus is seen."""
    # The page shows its lists anew at times, with other controls where something has changed.
    while True:
        count, reached, unseen = tab_through(scope)
        if browser.value("controls.every((one) => one.isConnected)"):
            break
    findings.extend(f"{name}: the focus of {one} is not seen" for one in unseen)
    # In a dialog the focus begins at a control in the middle.
    turn = reached.index(0) if 0 in reached else 0
    if reached[turn:] + reached[:turn] != list(range(count)):
        findings.append(f"{name}: the tabulator reaches {reached} of {count}")


def view(name, ready):
    browser.tap(f"#tabs [href='#{name}']")
    browser.wait_for(ready)
    assert browser.value(f"!document.querySelector('#view-{name}').hidden && document.title.includes(':')"), name


browser = Chromium(folder)
value, wait_for = browser.value, browser.wait_for
try:
    browser.prefer("light")
    browser.call("Page.navigate", url=url)
    browser.resize(420)
    wait_for("document.querySelectorAll('#mine-list tbody tr').length > 0")
    browser.call("Runtime.evaluate", expression=axe)
    assert "(this one)" in value("document.querySelector('#mine-list').innerText")

    # The person, the device, and what protects it.
    assert value("document.querySelector('h1').textContent") == "Example Corp" and value("document.title") == "My devices: Example Corp"
    assert value("document.querySelector('#state').textContent") == "Protected, by UDP"
    facts = value("document.querySelector('#facts').innerText")
    for text in ("alice, administrator", "laptop (10.77.0.2, fd77::2)", "192.0.2.2:", "10.77.0.0/24, fd77::/64", "\u00a0ago", "sent"):
        assert text in facts, f"no {text}: {facts}"
    check("my devices")
    browser.resize(1200)
    tab_order("my devices")
    # Names and addresses of the greatest length.
    value("mine.show([{...me.devices[0], device: 'd'.repeat(64), addresses: [...Array(9)].map(() => '2001:db8:1111:2222:3333:4444:5555:6666')}])")
    check("long names")
    # A user without a further role.
    value("me.administrator = me.operator = false; showPerson()")
    assert value("document.querySelector('#tabs').hidden && !document.querySelector('#facts').innerText.includes('administrator')")
    check("a user")
    # A tunnel that is down, and up again. The page looks every 15 seconds: not in this test.
    browser.call("Network.enable")
    for offline, state in ((True, "Not connected"), (False, "Protected, by UDP")):
        browser.call("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        value("refresh()")
        assert value("document.querySelector('#state').textContent") == state
        check(state)
    browser.complaints = [one for one in browser.complaints if "ERR_INTERNET_DISCONNECTED" not in one.get("entry", {}).get("text", "")]
    assert value("document.querySelector('#mine-list').innerText.includes('laptop') && !document.querySelector('#tabs').hidden")

    # A phone in two taps.
    browser.resize(420)
    browser.tap("[data-add=phone]")
    wait_for("document.querySelector('#add').open")
    assert value("document.querySelector('#add [name=name]').value") == device
    browser.tap("#add-go")
    wait_for("document.querySelector('#code svg') !== null")
    text = value("document.querySelector('#file').textContent")
    wait_for(f"[...document.querySelectorAll('#mine-list tbody th')].some(one => one.textContent === '{device}')")
    assert value("document.querySelector('#message').textContent + document.querySelector('#add-message').textContent") == ""
    assert value("document.querySelector('#save').download") == device + ".conf"
    assert value("document.activeElement.id") == "added-title"
    browser.picture("code", "#code")
    browser.picture("gateway-phone", None)
    check("the code")
    tab_order("the code", "document.querySelector('#add')")
    browser.press("Escape")
    # The key goes with the dialog.
    wait_for("document.querySelector('#file').textContent + document.querySelector('#code').textContent === ''")
    assert not value("document.querySelector('#add').open")
    browser.resize(980, 1200)
    browser.tap("[data-add=phone]")
    assert value("document.querySelector('#add [name=name]').value") == device + "-2"
    check("a new device")
    tab_order("a new device", "document.querySelector('#add')")
    # A public key of no form is refused, and the person stays in the dialog.
    browser.tap("#add summary")
    value("document.querySelector('#add [name=key]').value = 'short'")
    browser.tap("#add-go")
    wait_for("document.querySelector('#add-message').textContent !== ''")
    assert "400" in browser.complaints.pop()["entry"]["text"] and not browser.complaints
    check("a refused key")
    browser.tap("#add-form [data-close]")
    browser.resize(980, 1000)
    browser.picture("gateway-page")
    browser.prefer("dark")
    assert value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    browser.picture("gateway-dark")
    browser.prefer("light")

    # Another laptop of the same person, by a link without a secret.
    browser.resize(420)
    browser.tap("#link-own")
    wait_for("document.querySelector('#link').open")
    assert value("document.activeElement.id") == "link-title"
    link = value("document.querySelector('#link-text').textContent")
    assert link.startswith("roamward://192.0.2.1/?user=alice&pin=") and "token" not in link, link
    assert value("document.querySelector('#link-command').textContent") == f"roamward login '{link}'"
    keep("own", link)
    check("the own link")
    browser.resize(420)
    tab_order("the own link", "document.querySelector('#link')")
    browser.tap("#link [data-copy=link-command]")
    wait_for("document.querySelector('#link-copied').textContent !== ''")
    assert value("getSelection().toString()") == f"roamward login '{link}'"
    browser.tap("#link [data-close]")
    wait_for("document.querySelector('#link-text').textContent + document.querySelector('#link-code').textContent === ''")
    browser.resize(980, 1000)

    # A computer, whose key is its own.
    browser.tap("[data-add=computer]")
    browser.tap("#add summary")
    value("document.querySelector('#add [name=key]').value = 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo='")
    browser.tap("#add-go")
    wait_for("!document.querySelector('#added').hidden")
    assert "(the device's own private key)" in value("document.querySelector('#file').textContent")
    assert value("document.querySelector('#added-once').hidden && document.querySelector('#save').download") == "computer.conf"
    browser.tap("#added [data-close]")

    view("devices", "document.querySelectorAll('#device-list tbody tr').length >= 5")
    assert "bob/laptop" in value("document.querySelector('#device-list').innerText")
    check("devices")
    browser.resize(1200)
    browser.picture("gateway-administrator")
    value("devices.show([{user: 'u'.repeat(64), device: 'd'.repeat(64), state: 'session ended', since: '2026-11-30T00:09:02.000Z',"
          " handshake: '2026-11-30T00:09:02.000Z', transport: 'udp', endpoint: '[2001:db8:1111:2222:3333:4444:5555:6666]:65535',"
          " addresses: ['10.255.255.255', '2001:db8:1111:2222:3333:4444:5555:6666'], received: 999999, sent: 999999, login:"
          " {time: '2026-11-30T00:09:02.000Z', factors: 'password,code', source: '2001:db8:1111:2222:3333:4444:5555:6666', ended: null}}])")
    check("a long device")
    browser.resize(1200)
    value("showDevices()")
    tab_order("devices")
    # Sorted by a column, both ways.
    names = "[...document.querySelectorAll('#device-list tbody th')].map(one => one.textContent).join()"
    sort = "#device-list thead th:nth-child({}) button"
    browser.tap(sort.format(1))
    ascending = value(names)
    browser.tap(sort.format(1))
    assert value(names).split(",") == ascending.split(",")[::-1] and value("document.querySelector('[aria-sort=descending]') !== null")
    browser.tap(sort.format(3))
    assert value(names).startswith("alice/laptop"), value(names)
    # A search while typing, with Enter, and of those that are connected now.
    value("document.querySelector('#search [name=search]').focus()")
    browser.type("tab")
    wait_for(f"{names} === 'bob/tablet'")
    value("document.querySelector('#search [name=search]').value = 'bob/l'")
    browser.press("Enter")
    wait_for(f"{names} === 'bob/laptop'")
    value("document.querySelector('#search [name=search]').value = ''")
    browser.tap("#search .choice")
    wait_for(f"{names}.includes('alice/laptop') && !{names}.includes('bob/laptop')")
    assert value("document.querySelector('#device-list time').textContent").endswith("Z")
    browser.tap("#search .choice")
    wait_for(f"{names}.includes('bob/laptop')")
    # A session has one button, and none once it was ended.
    button = "#device-list tbody button"
    assert value(f"[...document.querySelectorAll('{button}')].map(one => one.getAttribute('aria-label')).join()") == "End session of bob/tablet"
    browser.tap(button)
    wait_for("document.querySelector('#confirm').open")
    browser.tap("#confirm-yes")
    wait_for(f"document.querySelector('{button}') === null && document.querySelector('#device-list').innerText.includes('session ended')")

    view("users", "document.querySelector('#group-list').innerText.includes('admins')")
    check("users")
    browser.resize(1200)
    browser.picture("gateway-users")
    tab_order("users")
    # A person is invited, by the keyboard.
    value("document.querySelector('#invite-new').focus()")
    browser.press("Enter")
    wait_for("document.querySelector('#invite').open")
    check("a name to invite")
    tab_order("a name to invite", "document.querySelector('#invite')")
    value("document.querySelector('#invite [name=user]').focus()")
    browser.type("carol")
    browser.press("Enter")
    wait_for("document.querySelector('#link').open")
    browser.resize(420)
    assert value("document.activeElement.id") == "link-title"
    assert "carol is a user now" in value("document.querySelector('#link-how').textContent")
    link = value("document.querySelector('#link-text').textContent")
    assert link.startswith("roamward://192.0.2.1/?user=carol&token=rw1-"), link
    keep("invitation", link)
    browser.picture("gateway-invitation", None)
    check("an invitation")
    tab_order("an invitation", "document.querySelector('#link')")
    browser.press("Escape")
    # The token goes with the dialog.
    wait_for("!document.documentElement.innerHTML.includes('rw1-')")
    wait_for("document.querySelector('#user-list').innerText.includes('carol')")
    # A user who is there is invited from the list; the name stays as it is.
    browser.resize(1200)
    browser.tap("#user-list [aria-label='Invite bob']")
    wait_for("document.querySelector('#invite').open")
    assert value("document.activeElement.id === 'invite-go' && document.querySelector('#invite [name=user]').readOnly")
    check("a user to invite")
    browser.tap("#invite [data-close]")
    # A lock asks, and for the reason; nobody locks the own account.
    browser.resize(1200)
    assert value("document.querySelector('#user-list [aria-label=\"Lock alice\"]') === null")
    browser.tap("#user-list [aria-label='Lock bob']")
    wait_for("document.querySelector('#confirm').open")
    assert value("document.activeElement.textContent") == "Cancel"
    check("a lock")
    tab_order("a lock", "document.querySelector('#confirm')")
    value("document.querySelector('#confirm-reason').focus()")
    browser.type("stolen")
    browser.tap("#confirm-yes")
    wait_for("document.querySelector('#user-list [aria-label=\"Unlock bob\"]') !== null")
    check("a locked user")
    browser.resize(1200)
    browser.tap("#user-list [aria-label='Unlock bob']")
    wait_for("document.querySelector('#confirm').open")
    assert not value("document.querySelector('#confirm-reason').checkVisibility()")
    browser.tap("#confirm-yes")
    wait_for("document.querySelector('#user-list [aria-label=\"Lock bob\"]') !== null")
    value("document.querySelector('#find [name=search]').focus()")
    browser.type("aro")
    wait_for("[...document.querySelectorAll('#user-list tbody th')].map(one => one.textContent).join() === 'carol'")
    value("users.show([{user: 'u'.repeat(64), state: 'active', until: '2026-11-30T00:09:02.000Z', devices: 10000,"
          " declared: '/etc/roamward-gateway/' + 'f'.repeat(60) + '.yaml:1234'}])")
    check("a long user")
    # An operator sees the same, without a way to change it.
    value("me.administrator = false; showPerson(); showUsers()")
    wait_for("document.querySelector('#user-list').innerText.includes('carol')")
    assert value("document.querySelector('#user-list tbody button') === null && !document.querySelector('#invite-new').checkVisibility()")
    check("users of an operator")
    browser.resize(1200)
    view("access", "document.querySelector('#rule-list').innerText.includes('allow page')")
    check("rules")
    browser.resize(1200)
    value("document.querySelector('#question [name=user]').value = 'bob';"
          "document.querySelector('#question [name=to]').value = '203.0.113.2:443'")
    browser.tap("#question button")
    wait_for("document.querySelector('#decision').className === 'denied'")
    assert "no match: for other destinations" in value("document.querySelector('#rule-list').innerText")
    assert "not evaluated" not in value("document.querySelector('#rule-list').innerText")
    check("access")
    browser.resize(1200)
    browser.picture("gateway-rules")
    # A rule behind the one that decides is shown as such.
    value("document.querySelector('#question [name=to]').value = '10.77.0.1:80'")
    browser.tap("#question button")
    wait_for("document.querySelector('#decision').className === 'allowed'")
    assert "decides" in value("document.querySelector('#rule-list').innerText")
    assert "not evaluated" in value("document.querySelector('#rule-list').innerText")
    check("an allowed packet")
    browser.resize(1200)
    tab_order("access")
    view("audit", "document.querySelector('#audit-list').innerText.includes('page alice/laptop')")
    check("audit log")

    # The browser's way back leads to the views before.
    value("history.back()")
    wait_for("!document.querySelector('#view-access').hidden")
    view("mine", "document.querySelector('#mine-list').checkVisibility()")
    browser.resize(420)

    # A question first: the device in use, which is kept, then the new one by the keyboard alone.
    remove = "#mine-list [aria-label=\"Remove {}\"]"
    browser.tap(remove.format("laptop"))
    wait_for("document.querySelector('#confirm').open")
    assert "You are using this device now" in value("document.querySelector('#confirm').innerText")
    assert value("document.activeElement.textContent") == "Cancel"
    check("a question")
    tab_order("a question", "document.querySelector('#confirm')")
    browser.press("Escape")
    wait_for("!document.querySelector('#confirm').open")
    value(f"document.querySelector('{remove.format(device)}').focus()")
    browser.press("Enter")
    wait_for("document.querySelector('#confirm').open")
    assert "You are using" not in value("document.querySelector('#confirm').innerText")
    value("document.querySelector('#confirm-yes').focus()")
    browser.press("Enter")
    wait_for(f"document.querySelector('{remove.format(device)}') === null")
    assert value("document.querySelector('#mine-list').innerText.includes('laptop')")
    assert not browser.complaints, browser.complaints

    # The device in use, after all: a person is told, though no answer may come.
    browser.tap(remove.format("laptop"))
    wait_for("document.querySelector('#confirm').open")
    browser.tap("#confirm-yes")
    wait_for("document.querySelector('#message').textContent === 'laptop is removed, and its tunnel has ended.'")
    assert value("document.querySelector('#state').textContent") == "Not connected"
    assert not findings, "\n" + "\n".join(findings)
    print(text, end="")
finally:
    browser.close()
