package import NetworkTypes

// Name servers and domains that the network announced to a link.

private let dnsServers = FactDeclaration(
  .dnsServers, ofLink: \.dnsServers, .list(.address), silence: .means(.list([])), space: .addresses, isOfHostServices: true,
  isWrittenLate: true, "Name servers.", example: "[192.0.2.1]"
) { facts, link, _ in facts.sources.host.servers(of: link.question, at: facts.sources.lookedAt) }

private let searchDomains = FactDeclaration(
  .searchDomains, ofLink: \.searchDomains, .list(.domain), silence: .means(.list([])), space: .domains, isOfHostServices: true,
  isWrittenLate: true, "The connection's domain and its search list.", example: "[cafe.example]"
) { facts, link, _ in facts.sources.host.domains(of: link.question, at: facts.sources.lookedAt) }

let nameServerFacts = [dnsServers, searchDomains]

// MARK: Keys of a match

/// The value of a key that compares the link's name servers.
package struct WantedServers: Hashable, Sendable {
  package let patterns: [DNSServerPattern]
  package let quantifier: DNSServerQuantifier
}

extension FactTable {
  package static let dnsDomain = CriterionKey<DomainList>(
    "dns-domain", kind: .searchDomains, fact: searchDomains.key, "The link's domain or a search domain is this name or below it.",
    example: "corp.example", reading: .list(.domainPattern) { DomainList($0.compactMap { DomainPattern($0) }) },
    write: { .list($0.map(\.description)) },
    constants: { $0.compactMap { if case .within(let name) = $0 { .domain(name) } else { nil } } },
    marks: Marking(
      wanted: { $0.marks { Marks($0) } }, found: { $0.link.searchDomains.marks { $0.marks { Marks(ofPatternsFor: $0) } } }),
    holds: { domains in { context in context.link.searchDomains.truth { $0.contains { domains.holds($0) } } } },
    found: { context, domains, holds in
      describe(context.link.searchDomains, as: "dns-domain") { found in
        guard !found.isEmpty else { return "no dns-domain" }
        return "dns-domain \(list(found)) is \(holds == .yes ? "" : "not ")within \(list(domains))"
      }
    })

  package static let dnsServer = CriterionKey<WantedServers>(
    "dns-server", kind: .dnsServers, fact: dnsServers.key,
    "The link has name servers, and each is in this list; `{ any: … }`: one is enough.", example: "[10.0.0.53, 17.*]",
    reading: .own, write: { $0.patterns.isEmpty || $0.quantifier == .each ? .list($0.patterns.map(\.description)) : .mapping },
    constants: { $0.patterns.map { .prefix($0.prefix) } },
    question: { $0.quantifier == .any ? .isAmong(fact: dnsServers.key) : .areAllAmong(fact: dnsServers.key) },
    marks: Marking(
      wanted: { $0.patterns.marks { Marks($0.prefix) } },
      found: { $0.link.dnsServers.marks { $0.marks { Marks(ofPrefixesFor: $0) } } }),
    holds: { wanted in
      { context in
        context.link.dnsServers.truth { servers in
          let isListed = { (server: IPAddress) in wanted.patterns.contains { $0.prefix.contains(server) } }
          return wanted.quantifier == .any ? servers.contains(where: isListed) : !servers.isEmpty && servers.allSatisfy(isListed)
        }
      }
    },
    found: { context, wanted, holds in
      describe(context.link.dnsServers, as: "dns-server") { found in
        guard !found.isEmpty else { return "no dns-server" }
        let verdict =
          wanted.quantifier == .any ? (holds == .yes ? "one is in" : "none is in") : holds == .yes ? "each is in" : "not each is in"
        return "dns-server \(list(found)): \(verdict) \(list(wanted.patterns))"
      }
    })
}

let nameServerKeys: [any AnyCriterionKey] = [FactTable.dnsDomain, FactTable.dnsServer]

extension Condition {
  /// One of the primary link's search domains matches the list.
  package static func dnsDomain(_ domains: DomainList) -> Condition { FactTable.dnsDomain(domains) }
  /// The primary link's name servers, each or any of them, match one of these patterns.
  package static func dnsServer(_ patterns: [DNSServerPattern], _ quantifier: DNSServerQuantifier) -> Condition {
    FactTable.dnsServer(WantedServers(patterns: patterns, quantifier: quantifier))
  }
}
