import Testing

/// Two hundred names a second are looked up all the while, at the server that resolv.conf names at that moment, and every server logs
/// its questions. With the plain file one server answers all names; split DNS is tested in Tests/VM/resolvers.
///
/// Under a kill switch no name is asked past the tunnel, in any event. Once a tunnel is connected, only its servers are asked, until nobody
/// wants it any more. One exception: if another program writes resolv.conf, a reader may see its content until the agent has replaced it
/// (some milliseconds); with a full tunnel, its questions go through that tunnel. A name that the plan can answer is answered within five
/// seconds.
@Suite("Names", .needsLab)
struct NameTests {
  /// Five seconds on a quiet machine; ours may be three times slower.
  private static let patience = 15_000

  /// `lookups=6886 unanswered=0 longest=1007 ms (agent)`.
  private func expectAnswered(_ line: String?, atLeast least: Int) throws {
    let numbers = try #require(line).split { !$0.isNumber }.compactMap { Int($0) }
    #expect(numbers.count >= 3 && numbers[0] >= least && numbers[1] == 0 && numbers[2] <= Self.patience, "\(line ?? "")")
    print("Names: \(line ?? "")")
  }

  @Test(
    "under a kill switch they are asked inside alone, while the tunnel goes up, down and roams and agent, engine and peer die; none is lost"
  )
  func guardedNames() throws {
    let scene = try leakScene(
      guarded.with("include: [default] }", "include: [default] }\n    dns: { servers: [10.77.0.1], search-domains: [corp.example] }"),
      "names.bash")
    let seen = try scene.play("Name/guarded-names")
    let stages = ["up", "down", "resumed", "agent", "engine", "peer", "back"]
    #expect(
      Array(seen.lines.prefix(stages.count + 2)) == ["[seen]"] + stages.map { "[\($0) asked home=0 cafe=0 mobile=0 gateway]" } + [
        "[past dns4=0 dns6=0]"
      ])
    try expectAnswered(seen.lines.dropLast().last, atLeast: 2000)
    print("Names, while resolv.conf is written by others: \(seen.lines.last ?? "")")
  }

  @Test("`roamward dns` says whom a name is asked of and why, and who answers; without an answer its status is 1")
  func inquiry() throws {
    let scene = try leakScene(corp, "names.bash")
    let seen = try scene.play("Name/inquiry")
    #expect(
      seen.lines == [
        "  sent to 192.0.2.1 of the network on eth0, because no tunnel that is up brings servers",
        "  DNS backend: file (no resolver service manages it)",
        "  sent to 10.77.0.1 of corp, because resolv.conf knows no names apart, and names the servers of corp",
        "answered by 192.0.2.1 in", "  the plan would use another server: its DNS settings are not active now", "corp", "file",
        "answered by 10.77.0.1 (corp): 10.77.0.77", "status 1", "status 2",
      ])
  }

  @Test(
    "without one they follow the tunnel: the place's server before, the tunnel's from when it is connected, the next place's after; none is lost"
  )
  func followingNames() throws {
    let scene = try leakScene(corp, "names.bash")
    let seen = try scene.play("Name/following-names")
    #expect(
      Array(seen.lines.prefix(5)) == [
        "[home asked home cafe=0 mobile=0 gateway=0]", "[cafe asked home=0 cafe=0 mobile=0 gateway]",
        "[mobile asked home=0 cafe=0 mobile=0 gateway]",
        "[reconnected asked home=0 cafe=0 mobile=0 gateway]", "[again asked home cafe=0 mobile=0 gateway=0]",
      ])
    try expectAnswered(seen.lines.dropFirst(5).first, atLeast: 1000)
    print("Names, meanwhile: \(seen.lines.dropFirst(6).joined(separator: " "))")
  }
}
