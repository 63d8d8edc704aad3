import Testing

/// The causes behind "the peer did not answer" that this machine knows: each is told as itself, and cured where it can be.
@Suite("Causes", .needsLab)
struct CauseTests {
  struct Cause: Sendable, CustomTestStringConvertible {
    let code: String
    /// Makes the cause, in the café.
    let make: String
    /// Ends it; the tunnel connects then.
    let mend: String
    let failure: String

    var testDescription: String { "\(code): \(make)" }
  }

  static let causes = [
    Cause(
      code: "endpoint-unreachable", make: "ip route add blackhole 203.0.113.10/32", mend: "ip route del blackhole 203.0.113.10/32",
      failure: "a route of this machine (blackhole) discards what is sent to 203.0.113.10, the tunnel's endpoint"),
    Cause(
      code: "endpoint-unreachable", make: "ip route add prohibit 203.0.113.10/32", mend: "ip route del prohibit 203.0.113.10/32",
      failure: "a route of this machine prohibits what is sent to 203.0.113.10, the tunnel's endpoint"),
    Cause(
      code: "endpoint-unreachable", make: "ip rule add to 203.0.113.10 prohibit priority 90", mend: "ip rule del priority 90",
      failure: "a route of this machine prohibits what is sent to 203.0.113.10, the tunnel's endpoint"),
    Cause(
      code: "endpoint-unreachable", make: "ip route add unreachable 203.0.113.10/32", mend: "ip route del unreachable 203.0.113.10/32",
      failure:
        "203.0.113.10, the tunnel's endpoint, is unreachable: a route of this machine says so, or the next hop does not answer"),
    Cause(
      code: "send-refused",
      make: "nft 'table inet theirs { chain out { type filter hook output priority 0; ip daddr 203.0.113.10 udp dport 51820 drop; }; }'",
      mend: "nft delete table inet theirs",
      failure: "this machine's firewall drops what is sent to 203.0.113.10, UDP port 51820, the tunnel's endpoint"),
  ]

  @Test("of routes, rules and a firewall of this machine are told at once, and go when these do", arguments: causes, ["off", "\"on\""])
  func local(_ cause: Cause, killSwitch: String) throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always + "    kill-switch: \(killSwitch)\n"]).play(
      "Cause/local", with: ["MAKE_IT": cause.make, "CODE": cause.code, "MEND_IT": cause.mend])
    #expect(seen.lines == [cause.failure, "1", "1", "null"])
  }

  @Test("a port at which nothing receives is told, once the peer had its time")
  func portClosed() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).play("Cause/port-closed")
    #expect(
      seen.lines == ["the peer did not answer, and 203.0.113.10 or a firewall before it says that nothing receives at UDP port 51999"])
  }

  @Test(
    "a port that another program has is told with that program; the tunnel listens at another one",
    arguments: ["", "as the unit runs it, without a look into other users' processes"])
  func portTaken(_ how: String) throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).play("Cause/port-taken", with: ["HOW": how])
    #expect(
      seen.lines.filter { !["0", "Terminated"].contains($0) } == [
        "UDP port 47001 is taken by IT, so it listens at another one until it starts again", "1", "no difference", "[0]",
        "and has its own again",
        "UDP port 47001 is taken by IT, and the tunnel has to listen there: a peer without an endpoint begins the sessions",
      ])
  }

  @Test("a clock behind the time of an earlier agent is told beside a peer that does not answer")
  func clockBehind() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).play("Cause/clock-behind")
    let told = "the peer did not answer, and this machine's clock is "
    #expect(seen.lines == [told + "2 d"] || seen.lines == [told + "3 d"])
  }

  @Test("a name that does not exist, and a name server that does not answer, are two causes")
  func names() throws {
    let scene = try Scene(["corp.yaml": OddFilesTests.always])
    let seen = try scene.play("Cause/names")
    #expect(seen.lines.first == "the endpoint vpn.corp.example cannot be resolved: there is no name vpn.corp.example")
    #expect(seen.lines.last?.hasPrefix("the endpoint vpn.corp.example cannot be resolved: cannot look up vpn.corp.example: ") == true)
  }

  @Test("on a network of IPv6 alone an IPv4 endpoint is reached by the network's translation, and directly on the next network")
  func translated() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).play("Cause/translated")
    #expect(seen.lines == ["[64:ff9b::cb00:710a]:51820", "no difference", "[0]", "0"])
  }

  @Test("a name server of a family that is off is left out")
  func serverOfFamilyOff() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).play("Cause/server-of-family-off")
    #expect(
      seen.lines == [
        "nameserver 10.77.0.1", "IPv6 is switched off on this machine, so its name server fd00:77::1 is left out", "no difference",
      ])
  }
}
