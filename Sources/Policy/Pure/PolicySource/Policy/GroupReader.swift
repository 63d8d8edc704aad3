internal import JSON
import RoamwardCore

/// Reads one entry of `groups`. `nil`, and reported, if it has no members.
func readGroup(_ entry: Node.Entry, _ reading: inout Reading) -> TunnelGroup? {
  guard isTunnelName(entry.key) else {
    reading.error(
      "\(quoted(entry.key)) cannot be the name of a group",
      help: "use 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`", at: entry.keyLocation)
    return nil
  }
  guard let draft = tunnelGroupKeys.read(entry.value, &reading), let members = draft.members else { return nil }
  let names = members.map(\.name)
  for (place, member) in members.enumerated() where names[..<place].contains(member.name) {
    reading.error("group `\(entry.key)` names \(quoted(member.name)) twice", help: "remove one of the two", at: member.location)
  }
  if Set(names).count < 2 {
    reading.error(
      "group `\(entry.key)` has \(names.isEmpty ? "no members" : "one member"), and a group chooses one of several",
      help: "name at least two tunnels: `one-of: [paris, lyon]`", at: entry.keyLocation)
  }
  // An armed tunnel has no session, so nothing shows that its peer is gone.
  for rule in draft.onDemand.rules where rule.action == .evaluateConnection {
    reading.error(
      "a group's rules cannot say `evaluate-connection`: a member without a session cannot give way to the next",
      help: "write `connect`, or give one tunnel the rule outside of the group", at: rule.location)
  }
  return TunnelGroup(
    name: entry.key, members: members, preference: draft.preference, onDemand: draft.onDemand, killSwitch: draft.killSwitch,
    location: entry.keyLocation)
}

/// The partly read keys of a group.
struct GroupDraft {
  var members: [TunnelGroup.Member]?
  var preference = GroupPreference.order
  var onDemand = OnDemand()
  var killSwitch = KillSwitch.off
}

let tunnelGroupKeys = Mapping(
  subject: "a group", draft: GroupDraft(),
  keys: [
    Key(
      "one-of", expects: "a list of tunnels",
      schema: Schema(["type": "array", "items": Schema.text(pattern: SchemaPattern.tunnelName).value, "minItems": 2]),
      "The tunnels of which one is in use at a time, the preferred one first.", example: "[paris, lyon]",
      missing: "name at least two tunnels: `one-of: [paris, lyon]`"
    ) { entry, draft, reading in
      draft.members = readMembers(entry.value, &reading)
    },
    Key(
      "prefer", ValueReader<GroupPreference>.word(),
      "The order in which members are tried: that of the list, or by the time that their gateways take to answer on this network.",
      standard: "order", example: "nearest"
    ) { $0.preference = $1 },
    Key("on-demand", .onDemand, "The rules of all members, and their timing.", example: "{ rules: [ { action: connect } ] }") {
      $0.onDemand = $1
    },
    Key(
      "kill-switch", expects: "off, on or always", schema: .words(["off", "on", "always"]),
      "The kill switch of all members: what any of them includes flows through the one in use, or not at all.", standard: "\"off\"",
      example: "\"on\""
    ) { entry, draft, reading in
      draft.killSwitch = ValueReader<KillSwitch>.word().read(entry.value, &reading) ?? .off
    },
  ])

private func readMembers(_ node: Node, _ reading: inout Reading) -> [TunnelGroup.Member]? {
  guard case .sequence(let nodes) = node.content else {
    reading.expected("a list of tunnels", at: node, help: "write `one-of: [paris, lyon]`")
    return nil
  }
  return nodes.compactMap { node in
    ValueReader.line.read(node, &reading).map { TunnelGroup.Member($0, location: node.location) }
  }
}
