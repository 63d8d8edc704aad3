import NetworkTypes
import PolicyLint
import RoamwardCore
import TestKit
import Testing

/// Likely mistakes of groups, and none where members are alike as intended.
@Suite struct GroupLintTests {
  private func policies(_ includes: [[String]], precedence: TunnelClass = .personal, isGrouped: Bool = true) -> PolicySet {
    let rules = [Sample.rule(.interface([.wifi]), .connect)]
    let tunnels = zip(["paris", "lyon", "tcp"], includes).map { name, include in
      Sample.tunnel(
        name, rules: rules, wireGuard: Sample.wireGuard(allowed: include, endpoint: "203.0.113.10:51820"), precedence: precedence)
    }
    let group = TunnelGroup(
      name: "work", members: tunnels.map { TunnelGroup.Member($0.name, location: $0.location) }, onDemand: tunnels[0].onDemand,
      location: Sample.place(9))
    return PolicySet(tunnels: tunnels, groups: isGrouped ? [group] : [])
  }

  private let alike = [["10.0.0.0/8"], ["10.0.0.0/8"]]

  @Test("members overlap and exclude one another as intended; their rules are judged once") func alikeMembers() {
    #expect(lint(policies(alike, isGrouped: false)).map(\.kind) == [.noCatchAll, .noCatchAll, .overlappingRoutes])
    #expect(lint(policies(alike)).map(\.kind) == [.noCatchAll])
    #expect(lint(policies(alike, precedence: .enterprise, isGrouped: false)).map(\.kind).contains(.exclusiveTunnels))
    #expect(lint(policies(alike, precedence: .enterprise)).map(\.kind) == [.noCatchAll])
  }

  @Test("a prefix that one member alone includes is named, with what becomes of it") func unlike() throws {
    var set = policies([["10.0.0.0/8", "192.168.7.0/24"], ["10.0.0.0/8"], ["10.0.0.0/8", "192.168.0.0/16"]])
    let found = lint(set).filter { $0.kind == .unlikeMembers }
    #expect(
      found.map(\.message) == [
        "of the group `work`, `paris` takes 192.168.7.0/24 and `lyon` does not: it flows outside of the group while `lyon` is in use",
        "of the group `work`, `tcp` takes 192.168.0.0/16 and `paris` does not: it flows outside of the group while `paris` is in use",
      ])
    set.groups[0].killSwitch = .on
    #expect(lint(set).first { $0.kind == .unlikeMembers }?.message.hasSuffix("it is blocked while `lyon` is in use") == true)
  }
}
