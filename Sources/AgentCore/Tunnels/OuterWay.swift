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

  init(_ name: String, _ outer: TunnelSupervisor?) {
    self.outer = name
    isOpen = outer?.machine.state == .connected
    mark = Ownership.innerMark(of: outer.flatMap { $0.machine.isRunning ? $0.slot : nil })
    link = outer?.linkName
    dns = outer?.policyInForce.dnsInForce ?? DNSPolicy()
  }

  /// The way of a look-up of the inner tunnel's endpoint: to the outer tunnel's name servers, if they resolve the name. Otherwise to those
  /// of the network, by the routes of all other programs.
  func lookup(of name: DomainName, on underlay: LinkFacts?) -> LookupWay {
    if !dns.servers.isEmpty, !dns.isSplit || dns.ownDomains.contains(where: { name.isWithin($0) }) {
      return LookupWay(servers: dns.servers, link: link, isOutside: false)
    }
    return LookupWay(servers: underlay?.dnsServers.value ?? [], link: nil, isOutside: false)
  }
}

extension OuterWay? {
  func lookup(of name: DomainName, on underlay: LinkFacts?) -> LookupWay {
    self?.lookup(of: name, on: underlay) ?? LookupWay(outsideOn: underlay)
  }

  var mark: UInt32 { self?.mark ?? Ownership.mark }

  /// Whether packets can pass now.
  var isOpen: Bool { self?.isOpen ?? true }
}
