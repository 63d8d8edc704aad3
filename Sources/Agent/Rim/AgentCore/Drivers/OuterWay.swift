import KernelModel
import NetworkTypes
import RoamwardCore

/// The way of an inner tunnel's own packets: through its outer tunnel, as that is now.
struct OuterWay: Equatable {
  let outer: String
  /// Whether the outer tunnel is connected.
  let isOpen: Bool
  /// The firewall mark that leads packets into it; while it is down, nowhere.
  let mark: UInt32
  let link: String?
  let dns: DNSPolicy

  /// The servers that resolve the inner tunnel's endpoint: those of the outer tunnel, if the name is in one of its domains.
  fileprivate func lookup(of name: DomainName) -> LookupScope {
    let isTheirs = !dns.servers.isEmpty && (!dns.isSplit || dns.ownDomains.contains { name.isWithin($0) })
    return isTheirs ? .servers(dns.servers, link: link) : .routed
  }
}

extension OuterWay? {
  func lookup(of name: DomainName) -> LookupScope { self?.lookup(of: name) ?? .outside }

  var mark: UInt32 { self?.mark ?? Ownership.mark }

  /// Whether packets can pass now.
  var isOpen: Bool { self?.isOpen ?? true }
}
