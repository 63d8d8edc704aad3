import Testing

/// Printers, file servers and whatever else stands in the same network as the laptop, under a tunnel for everything.
@Suite("The neighbourhood", .needsLab)
struct NeighbourhoodTests {
  @Test(
    "is reached on the networks that are named, as far as the machine is attached to it and no further, and that follows every change",
    arguments: [
      guarded, enforced, enforced.with(", enforce: true", ""),
    ])
  func attached(_ policy: String) throws {
    let policy =
      policy.with("version: 1", "version: 1\nnetworks: { home: { gateway: 192.0.2.1, gateway-mac: '02:00:5e:10:00:01' } }")
      .with("include: [default]", "include: [default], lan: allow, lan-networks: [home]")
    let scene = try leakScene(policy)
    let seen = try scene.play("Neighbourhood/attached")
    #expect(
      seen.lines == [
        "[seen]", "[the printer at home]", "[and no other private network]", "[the new one]", "[until it goes]", "[nobody in the café]",
        "[home again]", "10.77.0.2",
      ])
  }

  @Test(
    "that has the numbers of the company's network is what the policy says it is", arguments: ["prefer-local", "prefer-tunnel", "refuse"])
  func overlap(_ choice: String) throws {
    let scene = try Scene([
      "corp.yaml": unguarded.with("include: [default]", "include: [10.77.0.0/16, 192.168.7.0/24], on-overlap: \(choice)")
    ])
    let seen = try scene.play("Neighbourhood/overlap", with: ["CHOICE": choice])
    let told =
      switch choice {
      case "prefer-local": ["[at home home]", "192.168.7.0/24 stays outside, because this machine is attached to it"]
      case "prefer-tunnel":
        [
          "[at home gateway]",
          "192.168.7.0/24 dev eth0 (attached): goes inside, because corp includes 192.168.7.0/24, and on-overlap is prefer-tunnel",
        ]
      default: ["[at home home]", "attached to 192.168.7.0/24, which the tunnel includes, and on-overlap is refuse"]
      }
    #expect(seen.lines == ["[in the café the company]"] + told + ["[and the company again]"])
  }

  @Test("of the same numbers is not the same place: home is its router, not its prefix")
  func twins() throws {
    let scene = try Scene([
      "corp.yaml": corp.with(
        "- { match: { interface-name: \"eth*\" }, action: disconnect }", "- { match: { network: home }, action: disconnect }"
      )
      .with("version: 1", "version: 1\nnetworks: { home: { subnet: 192.168.7.0/24, gateway-mac: '02:00:5e:10:00:01' } }")
      .with("- { match: { ssid: Cafe }, action: connect }", "- { action: connect }")
    ])
    let seen = try scene.play("Neighbourhood/twins")
    #expect(seen.lines == ["[at home disconnected]", "[in the café connected]", "[at home disconnected]"])
  }

  /// The company's network is where the laptop stands, and its gateway is reached at the address that it has outside.
  @Test("that is the tunnel's own other end: from inside, nothing is led around, and the gateway answers all the same")
  func inside() throws {
    let scene = try Scene([
      "corp.yaml": unguarded.with("include: [default]", "include: [10.77.0.0/16, 192.0.2.0/24, 203.0.113.0/25], on-overlap: prefer-local")
    ])
    let seen = try scene.play("Neighbourhood/inside")
    #expect(seen.lines == ["dev eth0", "[the neighbour]", "[the company]", "dev eth0", "connected"])
  }
}
