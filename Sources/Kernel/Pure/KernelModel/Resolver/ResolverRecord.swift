internal import NetworkTypes

/// The two programs named resolvconf(8) that build resolv.conf from the records of other programs.
package enum ResolvconfProgram: String, Equatable, Sendable, CaseIterable {
  /// Debian's: joins the records in the order of /etc/resolvconf/interface-order.
  case debian = "resolvconf"
  /// openresolv: a record can be exclusive, and then the others are ignored.
  case openresolv
}

/// A record of resolvconf(8): its name marks it as ours, also after a crash.
package struct ResolverRecord: Hashable, Sendable {
  package var name: String
  package var program: ResolvconfProgram
  package var content: ResolvConf

  /// The suffix of our records' names.
  package static let suffix = ".roamward"

  /// Makes our record. Its name is the same for the servers of a tunnel and for our own name server, so that one replaces the other without
  /// a moment in which the file names the network's servers. `lo` comes first in Debian's interface-order, and what follows a loopback
  /// address is left out of resolv.conf (resolvconf(8), TRUNCATE_NAMESERVER_LIST_AFTER_LOOPBACK_ADDRESS). openresolv accepts any name.
  package init(_ content: ResolvConf, program: ResolvconfProgram) {
    self.init(name: "lo" + Self.suffix, program: program, content: content)
  }

  /// A record that was made under this name.
  package init(name: String, program: ResolvconfProgram, content: ResolvConf) {
    self.name = name
    self.program = program
    self.content = content
  }

  package static func isOurs(_ name: String) -> Bool { name.hasSuffix(suffix) }

  /// The program's input, in the format of resolv.conf(5).
  package var text: String {
    var lines = content.searchDomains.isEmpty ? [] : ["search " + content.searchDomains.map(\.text).joined(separator: " ")]
    lines += content.nameServers.map { "nameserver \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }
}
