import Testing

/// The link under a connected tunnel is renamed, replaced, taken away. A device is its index and which of those
/// that had it; a name is a label.
@Suite("Hotplug", .needsLab)
struct HotplugTests {
  /// On the café's Wi-Fi whatever the link is called, connected.
  private let connected = """
    go cafe
    start_agent
    tunnel_is corp connected
    sleep 1.2
    index=$(link_index corp)
    states() { grep ' tunnel ' agent.log | grep -o 'from=[a-z]* to=[a-z]*'; }
    """

  @Test("renamed under it, the tunnel stays and begins nothing anew")
  func renamed() throws {
    let scene = try Scene()
    let seen = try scene.play("Hotplug/renamed")
    #expect(seen.lines == ["[connected 0 0 0]", "wifi7", "[intranet]"])
  }

  @Test("deleted and made again with the same name, index, addresses and routes while the agent does not look, it is another one")
  func madeAgain() throws {
    let scene = try Scene()
    let seen = try scene.play("Hotplug/made-again")
    #expect(seen.lines == ["[connected 0 0]", "[intranet]"])
  }

  @Test("moved into another namespace it is gone, and back it is there again")
  func moved() throws {
    let scene = try Scene()
    let seen = try scene.play("Hotplug/moved")
    #expect(seen.lines == ["[null]", "[wlan0 0]", "[intranet]"])
  }

  @Test("another device that gets the old one's name is another network's until the rules have judged it")
  func nameIsTaken() throws {
    let scene = try Scene()
    let seen = try scene.play("Hotplug/name-is-taken")
    #expect(seen.lines == ["[ignore wlan0 null ]"])
  }

  @Test("a tunnel's own link that is renamed, deleted or moved away comes back under its name")
  func own() throws {
    let scene = try Scene()
    let seen = try scene.play("Hotplug/own")
    #expect(seen.lines == ["[deleted]", "[moved]", "[renamed]"])
  }

  @Test(
    "a tunnel's own link that is renamed as soon as it is there, in the middle of its start, comes back under its name",
    // Two rounds for each agent: what changes more often than RepairBackoff.freeRepairs is repaired ever later.
    arguments: ["1 2", "3 4", "5 6"])
  func ownAtOnce(delays: String) throws {
    let scene = try Scene()
    let seen = try scene.play("Hotplug/own-at-once", with: ["DELAYS": delays])
    #expect(seen == "connected")
  }
}
