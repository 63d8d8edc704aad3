import Testing

@Suite("Facts about the network", .needsLab)
struct FactsTests {
  @Test("from the SSID file change the decision within a second, however the file is written")
  func ssidFile() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      SETTLE=500ms start_agent
      tunnel_is corp connected
      echo Elsewhere >$laptop/ssid && within 1 field_is corp decision ignore && say "written in place"
      echo Cafe >$laptop/new && mv $laptop/new $laptop/ssid && within 1 field_is corp decision connect && say "renamed"
      rm $laptop/ssid && within 1 field_is corp decision ignore && say "removed"
      echo Cafe >$laptop/ssid && within 1 field_is corp decision connect && say "made"
      """)
    #expect(seen.lines == ["[written in place]", "[renamed]", "[removed]", "[made]"])
  }

  @Test("from resolv.conf (dns-domain, dns-server) change the decision, also while resolv.conf is the tunnel's")
  func resolvConf() throws {
    let scene = try Scene([
      "corp.yaml": corp.with(
        "{ match: { ssid: Cafe }, action: connect }",
        """
        { match: { dns-domain: office.example }, action: disconnect }
                - { match: { dns-server: 198.51.100.0/24 }, action: connect }
        """)
    ])
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      grep -q 10.77.0.1 $laptop/resolv.conf && say "the tunnel's"
      printf 'search eu.office.example\\nnameserver 198.51.100.1\\n' >$laptop/new && mv $laptop/new $laptop/resolv.conf
      within 1 field_is corp decision disconnect && tunnel_is corp disconnected && say "at the office"
      cat $laptop/resolv.conf
      echo 'nameserver 198.51.100.1' >$laptop/resolv.conf
      within 1 field_is corp decision connect && tunnel_is corp connected && say "in the café"
      """)
    #expect(
      seen.lines == [
        "[the tunnel's]", "[at the office]", "search eu.office.example", "nameserver 198.51.100.1", "[in the café]",
      ])
  }

  @Test("that flap a hundred times in a second are judged a few times, and rightly at the end")
  func flaps() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go home
      SETTLE=500ms start_agent
      roamward monitor --json >events.json 2>/dev/null &
      monitor=$!
      within 2 grep -q decision agent.log
      before=$(count_in_log ' decision ')
      start=${EPOCHREALTIME/./}
      for _ in {1..100}; do
        ip link set eth0 down
        ip link set eth0 up
        ip route replace default via 192.0.2.1 dev eth0
      done
      say "$(((${EPOCHREALTIME/./} - start) / 1000))"
      within 3 field_is corp rule.index 1
      sleep 0.7
      say "$(($(count_in_log ' decision ') - before))"
      # The rule may have been that of a moment between two changes.
      within 3 field_is corp decision disconnect
      say "$(field corp decision) $(field corp state)"
      go cafe
      tunnel_is corp connected
      kill $monitor
      """)
    let numbers = seen.lines.map { $0.filter(\.isNumber) }
    let milliseconds = try #require(Int(numbers[0]))
    // One evaluation a settle time; each may tell "no network" and the old verdict again.
    let evaluations = try #require(Int(numbers[1]))
    #expect(evaluations <= 2 * (milliseconds / 500 + 2), "in \(milliseconds) ms")
    #expect(seen.lines.last == "[disconnect disconnected]")
  }
}
