import Testing

/// A café whose portal answers every web page with its own, until somebody signs in; and a laptop whose kill switch holds everything back.
@Suite("A captive portal under a kill switch", .needsLab)
struct PortalTests {
  private let words = """
    close_portal() {
      mkdir -p portal; echo 'Please buy a coffee.' >portal/index.html
      for address in 203.0.113.80/32 2001:db8::80/128; do ip -n cafe address add $address dev lo nodad 2>/dev/null; done
      [[ -e portal.lock ]] || on cafe busybox httpd -p 203.0.113.80:80 -h $PWD/portal
      touch portal.lock
      for family in -4 -6; do ip -n cafe $family rule add iif lan0 pref 10 unreachable; done
    }
    sign_in() {
      for address in 203.0.113.80/32 2001:db8::80/128; do ip -n cafe address del $address dev lo; done
      for family in -4 -6; do ip -n cafe $family rule del pref 10; done
    }
    # What a tunnel and its portal could leave something in, without counts, and the address that the kernel makes up for a link.
    looks() { { nft -s list ruleset; ip rule; ip -6 rule; ip route show table all; cat $laptop/resolv.conf; } | grep -v 'fe80::.* dev corp'; }

    page() { curl --silent --max-time 2 http://203.0.113.80/ || echo nothing; }
    browser_page() { in_browser curl --silent --max-time 2 http://203.0.113.80/ || echo nothing; }
    browser_shows_page() { browser_page >shown; not grep -qx nothing shown; }

    """

  @Test("is reached by one browser alone; nothing else leaves, the tunnel comes up by itself, and nothing remains, time after time")
  func oneBrowser() throws {
    let scene = try leakScene(guarded, "browser.bash")
    let seen = try scene.run(
      words + """
        watch_places
        go cafe
        see_leaks
        start_agent; tunnel_is corp connected; looks >looks.before; stop_agent >/dev/null
        open_browser
        for time in first second; do
          close_portal
          start_agent
          within 10 eval 'roamward status | sed -n 1p | grep ^blocked:' >/dev/null
          say "$time: $(browser_page)"
          roamward release --portal --only $browser --reason hotel >/dev/null
          forget_leaks; start_strays; sleep 1; stop_strays
          say "others: $(leaked)"
          say "others: $(page)"
          within 5 browser_shows_page; say "browser: $(<shown)"
          in_browser busybox nslookup www.example 198.51.100.1 2>&1 | grep -o '203.0.113.80'
          roamward status | sed -n 1p
          sign_in
          tunnel_is corp connected
          within 30 situation_is guarded
          within 10 eval 'looks | diff looks.before -' && say "as if there had been no portal"
          seen_by 203.0.113.80
          stop_agent >/dev/null
        done
        grep -o 'kill switch suspended by hand how=.*' agent.log | cut -d ' ' -f 1-13 | head -n 1
        """, limit: 200)
    let none = "dns4=0 dns6=0 flow4=0 flow6=0 gateway=0"
    let group = "/" + (scene.folder.split(separator: "/").last.map(String.init) ?? "")
    func round(_ time: String) -> [String] {
      [
        "[\(time): nothing]", "[others: \(none)]", "[others: nothing]", "[browser: Please buy a coffee.]", "203.0.113.80",
        "kill switch: portal window open (hotel), the web and DNS flow outside the tunnel for the programs in \(group) only; `roamward resume` closes it",
        "[as if there had been no portal]", "10.77.0.2",
      ]
    }
    #expect(seen.lines.dropLast() == round("first") + round("second"))
    #expect(seen.lines.last?.contains("portal window for programs in \(group)") == true)
  }

  @Test("the window closes when its browser does; none opens to the whole machine, or to nobody")
  func closes() throws {
    let scene = try leakScene(guarded, "browser.bash")
    let seen = try scene.run(
      words + """
        go cafe
        close_portal
        start_agent
        within 10 eval 'roamward status | sed -n 1p | grep ^blocked:' >/dev/null
        roamward release --portal --only $$ 2>&1 | sed -n 1p | sed 's/[0-9][0-9]*/N/' || true
        roamward release --portal --only 999999 2>&1 | sed -n 1p || true
        roamward release --only 1 2>&1 | sed -n 1p || true
        situation_is guarded && say guarded
        open_browser
        roamward release --portal --only $browser >/dev/null
        within 5 situation_is portal && within 5 browser_shows_page && cat shown
        kill $browser; wait $browser 2>/dev/null || true
        within 30 situation_is guarded
        within 5 not eval 'nft list table inet roamward | grep cgroup' && say "closed again"
        """, limit: 120)
    #expect(
      seen.lines == [
        "roamward: process N is in the control group of the whole machine",
        "roamward: no process 999999, or this system has no cgroup v2",
        "Error: --only limits a portal window; add --portal", "[guarded]", "Please buy a coffee.", "[closed again]",
      ])
  }
}
