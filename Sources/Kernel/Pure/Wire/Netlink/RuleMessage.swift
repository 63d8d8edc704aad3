package import KernelModel
package import NetworkTypes

/// `RTM_*RULE` with `struct fib_rule_hdr`: family, two lengths, tos, table, two reserved, action (u8 each), flags u32.
package enum RuleMessage {
  package static let new: UInt16 = 32
  package static let delete: UInt16 = 33
  package static let get: UInt16 = 34
  static let headerSize = 12

  /// `FRA_*` of linux/fib_rules.h.
  enum Attribute {
    static let priority: UInt16 = 6
    static let mark: UInt16 = 10
    static let table: UInt16 = 15
    static let suppressedLength: UInt16 = 14
    static let mask: UInt16 = 16
    static let routeProtocol: UInt16 = 21
  }

  /// Attributes that restrict a rule in addition to its mark: source, destination, links, flow, tunnel, l3mdev, users, protocol and ports.
  static let selectors: Set<UInt16> = [1, 2, 3, 11, 12, 17, 19, 20, 22, 23, 24]

  /// `FIB_RULE_INVERT` and `FR_ACT_TO_TBL`.
  static let invertFlag: UInt32 = 0x2
  static let lookUpAction: UInt8 = 1
}

extension RoutingRule {
  /// From `RTM_NEWRULE` or `RTM_DELRULE`; `nil` for rules that look up no table (goto, blackhole …).
  package init?(_ message: NetlinkMessage) {
    let payload = message.payload
    guard message.type == RuleMessage.new || message.type == RuleMessage.delete,
      let family = payload.byte(at: 0).flatMap({ IPAddress.Family(addressFamily: $0) }), let table = payload.byte(at: 4),
      payload.byte(at: 7) == RuleMessage.lookUpAction, let flags = payload.host32(at: 8)
    else { return nil }
    self.init(
      family: family, priority: 0, table: UInt32(table), isInverted: flags & RuleMessage.invertFlag != 0, routeProtocol: 0)
    // tos
    isSelective = payload.byte(at: 3) != 0
    for attribute in NetlinkAttributes(payload, after: RuleMessage.headerSize) {
      switch attribute.type {
      case RuleMessage.Attribute.priority: priority = attribute.payload.host32() ?? 0
      case RuleMessage.Attribute.table: self.table = attribute.payload.host32() ?? self.table
      case RuleMessage.Attribute.mark: mark = attribute.payload.host32() ?? 0
      case RuleMessage.Attribute.mask: mask = attribute.payload.host32() ?? 0
      case RuleMessage.Attribute.routeProtocol: routeProtocol = attribute.payload.byte(at: 0) ?? 0
      case RuleMessage.Attribute.suppressedLength:
        // All bits set: nothing is suppressed.
        if let length = attribute.payload.host32(), length <= 128 { suppressedLength = UInt8(length) }
      case let other where RuleMessage.selectors.contains(other): isSelective = true
      default: continue
      }
    }
  }
}

extension NetlinkWriter {
  package mutating func dumpRules(_ family: IPAddress.Family, sequence: UInt32) {
    message(RuleMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.raw([family.addressFamily, 0, 0, 0, 0, 0, 0, 0])
      writer.host32(0)
    }
  }

  /// EEXIST if the same rule exists; older kernels ignore inversion and origin in that comparison.
  package mutating func addRule(_ rule: RoutingRule, sequence: UInt32, flags: UInt16) {
    let flags = flags | NetlinkMessage.Flag.create | NetlinkMessage.Flag.exclusive
    message(RuleMessage.new, flags: flags, sequence: sequence) { $0.ruleBody(rule) }
  }

  /// ENOENT if there is none.
  package mutating func removeRule(_ rule: RoutingRule, sequence: UInt32, flags: UInt16) {
    message(RuleMessage.delete, flags: flags, sequence: sequence) { $0.ruleBody(rule) }
  }

  private mutating func ruleBody(_ rule: RoutingRule) {
    let table = rule.table < 256 ? UInt8(rule.table) : 0
    raw([rule.family.addressFamily, 0, 0, 0, table, 0, 0, RuleMessage.lookUpAction])
    host32(rule.isInverted ? RuleMessage.invertFlag : 0)
    attribute(RuleMessage.Attribute.priority, host32: rule.priority)
    attribute(RuleMessage.Attribute.table, host32: rule.table)
    if rule.mask != 0 || rule.mark != 0 {
      attribute(RuleMessage.Attribute.mark, host32: rule.mark)
      attribute(RuleMessage.Attribute.mask, host32: rule.mask)
    }
    attribute(RuleMessage.Attribute.routeProtocol, byte: rule.routeProtocol)
  }
}
