package import NetworkTypes

/// The parts of resolv.conf(5) that name servers and domains.
package struct ResolvConf: Hashable, Sendable {
  package var nameServers: [IPAddress]
  package var searchDomains: [DomainName]

  /// The maximum number of servers that glibc reads (`MAXNS` of resolv.h).
  package static let maximumNameServers = 3

  package init(nameServers: [IPAddress] = [], searchDomains: [DomainName] = []) {
    self.nameServers = nameServers
    self.searchDomains = searchDomains
  }

  /// Parses the text as glibc does: the last `search` or `domain` line counts, unreadable entries are skipped, a zone (`%eth0`) is dropped.
  package init(parsing text: String) {
    self.init()
    for line in text.split(whereSeparator: \.isNewline) {
      guard let first = line.first, first != "#", first != ";" else { continue }
      let words = line.split { $0 == " " || $0 == "\t" }
      switch words.first {
      case "nameserver":
        guard words.count > 1, let address = IPAddress(String(words[1].prefix { $0 != "%" })) else { continue }
        nameServers.append(address)
      case "search", "domain":
        searchDomains = words.dropFirst().compactMap { DomainName(String($0)) }
      default:
        continue
      }
    }
  }

  /// The file's text as we write it, under our marker.
  package var rendered: String {
    var lines = [Ownership.resolvConfMarker]
    if !searchDomains.isEmpty { lines.append("search " + searchDomains.map(\.text).joined(separator: " ")) }
    lines += nameServers.prefix(Self.maximumNameServers).map { "nameserver \($0)" }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Whether we wrote a file with this text.
  package static func isOurs(_ text: String) -> Bool { text.hasPrefix(Ownership.resolvConfMarker) }
}

/// The observed state of the resolver's path.
package enum ObservedResolvConf: Equatable, Sendable {
  /// No file.
  case absent
  /// A file with this text.
  case file(String)
  /// A file that we must not overwrite: a symbolic link, or a file that cannot be written.
  case untouchable(reason: String)

  package var isOurs: Bool {
    if case .file(let text) = self { ResolvConf.isOurs(text) } else { false }
  }
}
