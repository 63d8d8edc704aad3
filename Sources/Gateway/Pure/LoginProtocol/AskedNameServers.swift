internal import KernelModel
package import NetworkTypes

/// The name servers of resolv.conf(5) that are asked for a record, and whether their word on DNSSEC counts.
///
/// An answer's AD bit is the name server's word alone: on the network between, anybody can set it. So it counts if the name server is on
/// this machine, or if resolv.conf says `options trust-ad`, as glibc has it. Roamward's own name server
/// validates nothing, so its word never counts.
package struct AskedNameServers: Hashable, Sendable {
  package let addresses: [IPAddress]
  /// It is the same for all of `addresses`. If the word of one counts, no other one is asked.
  package let isTrusted: Bool

  /// - Parameter text: that of resolv.conf; empty without the file.
  package init(resolvConf text: String) {
    let named = Array(ResolvConf(parsing: text).nameServers.prefix(ResolvConf.maximumNameServers))
    // Without one, resolvers ask this machine (resolv.conf(5)).
    let all = named.isEmpty ? [IPAddress(v4: 0x7f00_0001)] : named
    let trustsAll = Self.trustsAll(text)
    let trusted = all.filter { $0 != NameServerSettings.address && (trustsAll || $0.isLoopback) }
    isTrusted = !trusted.isEmpty
    addresses = isTrusted ? trusted : all
  }

  /// Whether the option is there. glibc reads options at the beginning of a line.
  private static func trustsAll(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      let words = line.split { $0 == " " || $0 == "\t" }
      return line.first == "o" && words.first == "options" && words.contains("trust-ad")
    }
  }

  /// The reason why the word of such a name server does not count.
  static func doubt(about address: IPAddress) -> String {
    address == NameServerSettings.address
      ? "the name server \(address) is roamward-names, which passes answers on and validates none"
      : "the name server \(address) is not on this machine, and /etc/resolv.conf does not say `options trust-ad`"
  }
}
