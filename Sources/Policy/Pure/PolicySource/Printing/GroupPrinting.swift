import RoamwardCore

extension PolicyPrinter {
  /// A group with the rules and the kill switch of its members.
  static func yaml(of group: TunnelGroup) -> YAMLMapping {
    var mapping = YAMLMapping([("one-of", .list(group.members.map { .text($0.name) }))])
    if group.preference != .order { mapping.add("prefer", .word(group.preference.rawValue)) }
    let onDemand = yaml(of: group.onDemand)
    if !onDemand.isEmpty { mapping.add("on-demand", .mapping(onDemand)) }
    if group.killSwitch != .off { mapping.add("kill-switch", .word(group.killSwitch.rawValue)) }
    return mapping
  }
}

extension PrintableTunnel {
  /// Without the rules and the kill switch that it has of its group.
  func asMember(of group: TunnelGroup?) -> PrintableTunnel {
    guard group != nil else { return self }
    var member = self
    member.onDemand = OnDemand()
    member.killSwitch = .off
    return member
  }
}
