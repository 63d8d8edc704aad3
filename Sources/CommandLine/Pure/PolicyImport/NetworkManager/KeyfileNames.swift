import NetworkTypes
import RoamwardCore

/// The names in `dns-search` (nm-settings(5)): search domains and, with a `~` prefix, names that these servers answer. `~.` is every name.
struct KeyfileNames {
  private var search: [DomainName] = []
  private var routing: [DomainName] = []
  private var isForEveryName = false
  /// A connection that is never the default answers only its own names.
  var isNeverDefault = false

  mutating func add(_ entry: Keyfile.Entry, _ report: inout ImportReport) {
    for text in keyfileList(entry.value) {
      let isRouting = text.hasPrefix("~")
      let bare = isRouting ? String(text.dropFirst()) : text
      if isRouting, bare == "." {
        isForEveryName = true
        report.changed(entry.place, "`~.`: its servers answer for every name, as without match-domains")
      } else if let name = DomainName(bare) {
        if isRouting { routing.append(name) } else { search.append(name) }
        report.changed(entry.place, isRouting ? "match-domains: \(shownValue(bare))" : "a search domain: \(shownValue(bare))")
      } else {
        report.dropped(entry.place, "`\(shownValue(text))` is no domain name", weight: .warning)
      }
    }
  }

  /// The `DNS` line of the wg-quick file.
  var searchLines: [String] { search.isEmpty ? [] : ["DNS = " + search.map(\.text).joined(separator: ", ")] }

  /// The DNS policy; `nil` if the wg-quick file is sufficient. NetworkManager uses split DNS if a `~` requires it, and if the connection is
  /// never the default. Search domains then belong to the connection too.
  func policy(servers: [IPAddress], _ report: inout ImportReport) -> DNSPolicy? {
    guard !isForEveryName, !routing.isEmpty || isNeverDefault && !search.isEmpty else { return nil }
    guard !servers.isEmpty else {
      report.record("match domains without a server that answers for them are left out", weight: .warning)
      return nil
    }
    if routing.isEmpty {
      report.record("never-default: its servers are asked for its search domains alone (match-domains), as NetworkManager does")
    }
    let names = (routing + search).uniqued()
    return DNSPolicy(servers: servers, searchDomains: search, matchDomains: names.map { .within($0) })
  }
}
