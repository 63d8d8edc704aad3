import NetworkTypes
import RoamwardCore

/// Gives the members of groups the rules and the kill switch of their group. The kill switch of a group is the strictest of its own and its
/// members'.
func applyGroups(_ groups: inout [TunnelGroup], to tunnels: inout [TunnelPolicy], at place: (String) -> Int?) {
  for i in groups.indices {
    let places = groups[i].members.compactMap { place($0.name) }
    let strictest = (places.map { tunnels[$0].killSwitch } + [groups[i].killSwitch]).max { $0.strictness < $1.strictness }
    groups[i].killSwitch = strictest ?? .off
    for place in places {
      // Rules of its own are a mistake, which is reported: they are not hidden by others.
      if !tunnels[place].onDemand.isGiven { tunnels[place].onDemand = groups[i].onDemand }
      tunnels[place].killSwitch = groups[i].killSwitch
    }
  }
}

/// Finds mistakes of groups that only all files together show. `tunnels`: as they are in their files, before their groups are applied.
func findGroupProblems(
  _ groups: [TunnelGroup], _ tunnels: [TunnelPolicy], _ tunnel: (String) -> TunnelPolicy?
) -> [(location: SourceLocation, message: String, help: String)] {
  var problems: [(location: SourceLocation, message: String, help: String)] = []
  var owners: [String: String] = [:]
  for group in groups {
    if let same = tunnel(group.name) {
      problems.append(
        (
          group.location, "group `\(group.name)` has the name of a tunnel (\(same.location)), and commands take either",
          "rename one of the two"
        ))
    }
    let names = group.members.map(\.name)
    for (place, member) in group.members.enumerated() where !names[..<place].contains(member.name) {
      guard let found = tunnel(member.name) else {
        let names = tunnels.count > 1000 ? [] : tunnels.map(\.name)
        problems.append(
          (
            member.location, "there is no tunnel \(quoted(member.name)), which the group `\(group.name)` names",
            nearest(to: member.name, among: names).map { "did you mean `\($0)`?" } ?? "define it under `tunnels:`, in any file"
          ))
        continue
      }
      let owner = owners[member.name] ?? group.name
      owners[member.name] = owner
      if owner != group.name {
        problems.append(
          (member.location, "`\(member.name)` is in the groups `\(owner)` and `\(group.name)`", "leave it to one of the two"))
        continue
      }
      problems += findMemberProblems(found, of: group, first: group.members.compactMap { tunnel($0.name) }.first ?? found)
    }
  }
  for inner in tunnels {
    guard let through = inner.through, let owner = owners[through.name] else { continue }
    problems.append(
      (
        through.location, "`\(inner.name)` goes through `\(through.name)`, which gives way to other members of its group `\(owner)`",
        "go through a tunnel that is in no group"
      ))
  }
  return problems
}

private func findMemberProblems(
  _ member: TunnelPolicy, of group: TunnelGroup, first: TunnelPolicy
) -> [(location: SourceLocation, message: String, help: String)] {
  var problems: [(location: SourceLocation, message: String, help: String)] = []
  if member.onDemand.isGiven {
    problems.append(
      (
        member.location, "`\(member.name)` has `on-demand` of its own, and the rules of its group `\(group.name)` are those of all members",
        "move `on-demand` to the group, or take `\(member.name)` out of it"
      ))
  }
  if member.precedence != first.precedence {
    problems.append(
      (
        member.location,
        "`\(member.name)` is \(member.precedence.rawValue), and `\(first.name)` of the same group `\(group.name)` is "
          + first.precedence.rawValue, "give all members the same `class`"
      ))
  }
  if member.includesAllNetworks != first.includesAllNetworks {
    problems.append(
      (
        member.location,
        "of the group `\(group.name)`, only `\((member.includesAllNetworks ? member : first).name)` has `include-all-networks`: "
          + "its kill switch would block all else while the other one is in use", "give all members `include-all-networks`, or none"
      ))
  }
  if let owner = member.availability.owner {
    problems.append(
      (
        member.location, "`\(member.name)` belongs to \(owner), and the group `\(group.name)` to all users",
        "take it out of the group, or remove `owner`"
      ))
  }
  if member.isForApps {
    problems.append(
      (
        member.location,
        "`\(member.name)` is for some programs alone (`apps: include`), which cannot change to another member of the group `\(group.name)`",
        "take it out of the group, or remove `apps`"
      ))
  }
  if group.killSwitch != .off, member.provider.isWithoutLink {
    problems.append(
      (
        member.location, "the kill switch of the group `\(group.name)` needs the link of `\(member.name)`",
        "add `interface:` to its `\(member.provider.name)`"
      ))
  }
  return problems
}

extension OnDemand {
  /// Whether a policy has it.
  fileprivate var isGiven: Bool { self != OnDemand() }
}

extension KillSwitch {
  fileprivate var strictness: Int {
    switch self {
    case .off: 0
    case .on: 1
    case .always: 2
    }
  }
}
