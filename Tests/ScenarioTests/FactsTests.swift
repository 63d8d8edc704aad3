import Testing

@Suite("Facts about the network", .needsLab)
struct FactsTests {
  @Test("from the SSID file change the decision within a second, however the file is written")
  func ssidFile() throws {
    let scene = try Scene()
    let seen = try scene.play("Facts/ssid-file")
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
    let seen = try scene.play("Facts/resolv-conf")
    #expect(
      seen.lines == [
        "[the tunnel's]", "[at the office]", "search eu.office.example", "nameserver 198.51.100.1", "[in the café]",
      ])
  }

  @Test("that flap a hundred times in a second are judged a few times, and rightly at the end")
  func flaps() throws {
    let scene = try Scene()
    let seen = try scene.play("Facts/flaps")
    let numbers = seen.lines.map { $0.filter(\.isNumber) }
    let milliseconds = try #require(Int(numbers[0]))
    // One evaluation a settle time; each may tell "no network" and the old verdict again.
    let evaluations = try #require(Int(numbers[1]))
    #expect(evaluations <= 2 * (milliseconds / 500 + 2), "in \(milliseconds) ms")
    #expect(seen.lines.last == "[disconnect disconnected]")
  }
}
