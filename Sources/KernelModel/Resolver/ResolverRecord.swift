internal import NetworkTypes

/// The two programs that are called resolvconf(8) and keep resolv.conf from the records that others give them.
package enum ResolvconfProgram: String, Hashable, Sendable, CaseIterable {
  /// Debian's: joins the records in the order of /etc/resolvconf/interface-order.
  case debian = "resolvconf"
  /// A record can be exclusive: then the others do not count.
  case openresolv
}

/// A record of resolvconf(8): its name is the mark by which it is known as ours, also after a crash.
package struct ResolverRecord: Hashable, Sendable {
  package var name: String
  package var program: ResolvconfProgram
  package var content: ResolvConf

  /// The end of the names of our records.
  package static let suffix = ".roamward"

  /// `tun` comes early in Debian's interface-order, and any name does for openresolv.
  package init(tunnel: String, program: ResolvconfProgram, content: ResolvConf) {
    name = "tun." + tunnel + Self.suffix
    self.program = program
    self.content = content
  }

  /// One that was made under this name.
  package init(name: String, program: ResolvconfProgram, content: ResolvConf) {
    self.name = name
    self.program = program
    self.content = content
  }

  package static func isOurs(_ name: String) -> Bool { name.hasSuffix(suffix) }

  /// What the program is given, as resolv.conf(5).
  package var text: String {
    var lines = content.searchDomains.isEmpty ? [] : ["search " + content.searchDomains.map(\.text).joined(separator: " ")]
    lines += content.nameServers.map { "nameserver \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }
}
