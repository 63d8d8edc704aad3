import Testing

/// The company's tunnel, armed on every network but cables, and armed again after the shortest time without data. Its file has
/// persistent keepalives.
private let corpArmed = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { release-delay: 0s, idle: 20s }
        rules:
          - { match: { interface-name: "eth*" }, action: disconnect }
          - action: evaluate-connection
            connections: [ { domains: [corp.example], action: connect-always } ]
      routes: { include: [10.77.0.0/16] }
      dns: { servers: [10.77.0.1], match-domains: [corp.example] }

  """

@Suite("An armed tunnel on real links", .needsLab)
struct ArmedTests {
  /// Plays a scene in the café, where the tunnel is armed.
  private func armed(_ scene: String) throws -> [String] { try Scene(["corp.yaml": corpArmed]).play(scene).lines }

  @Test("sends nothing on any network; a look-up connects it and is answered; idle, it is armed again")
  func life() throws {
    let seen = try armed("Armed/life")
    #expect(
      seen == [
        "[counted]", "[by hand: connected]", "[sessions 0]", "[mobile armed]", "[nothing armed]", "[cafe armed]", "[mobile armed]",
        "[cafe armed]",
        "[armed: 0 datagrams, 10.77.0.1 dev corp, handshakes 0]", "[answered]",
        "[intranet]", "[counted]", "[again: 0 datagrams, sessions 0, keepalive off]", "[intranet]", "[keepalive 25]",
      ])
  }

  @Test("whose gateway is dead leads nowhere rather than outside, says so, and connects when it is back")
  func deadGateway() throws {
    let seen = try armed("Armed/dead-gateway")
    #expect(
      seen == [
        "armed: comes up at the first packet; until its gateway answers, 10.77.0.0/16 and names in corp.example are unreachable",
        "[not answered]",
        "a packet asked for it, and the peer did not answer within 15 s; armed again", "[dev corp]", "[answered]", "[null]",
      ])
  }

  @Test("stays when the agent is killed, and works; the next agent arms it again, and a clean-up leaves nothing")
  func killed() throws {
    let seen = try armed("Armed/killed")
    #expect(
      seen == [
        "[dev corp]", "[answered]", "[sessions 0]", "[answered]", "[nothing left]", "[stopped 0]", "[nothing left]",
      ])
  }

  @Test("whose gateway's name cannot be resolved is armed, and connects once it can")
  func unresolvedName() throws {
    let seen = try armed("Armed/unresolved-name")
    #expect(seen == ["[not answered, armed]", "[answered]"])
  }

  /// The kernel's times of the first packet into the tunnel's link and of the handshake that leaves because of it. The least of ten,
  /// because on a busy machine any of them can be late.
  @Test("begins its handshake within a millisecond of the first packet") func handshake() throws {
    let seen = try armed("Armed/handshake")
    let delays = seen.compactMap { line -> Double? in
      let times = line.split { "[] ".contains($0) }.compactMap { word -> (Int, Double)? in
        let parts = word.split(separator: ".")
        return parts.count == 2 ? (Int(parts[0]) ?? 0, (Double(parts[1]) ?? 0) / 1e6) : nil
      }
      return times.count == 2 ? Double(times[1].0 - times[0].0) * 1000 + times[1].1 - times[0].1 : nil
    }
    #expect(delays.count == 10 && delays.allSatisfy { $0 > 0 }, "\(seen)")
    #expect((delays.min() ?? 9) < 1, "\(delays) ms")
    print("Handshake of an armed tunnel: \(delays.sorted()) ms after the first packet")
  }
}
