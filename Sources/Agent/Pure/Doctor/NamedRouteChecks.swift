internal import HostFindings
import RoamwardCore

/// Checks of routes by name: their addresses, and programs that bring them none.
let namedRouteChecks: [HostCheck] = [
  HostCheck("shared-addresses", "addresses of routed names belong to no other names that were asked for") { host, policies in
    policies.enabled.contains(where: \.routesByName)
      ? host.sharedAddresses.map {
        HostFinding(
          "shared-addresses", .hint, $0,
          cure: "none, if that is meant; else name prefixes instead of the domain, or the other name in `exclude-domains` beside it")
      } : []
  },
  HostCheck("own-resolvers", "no program resolves names past the system's resolver") { host, policies in
    let tunnels = policies.enabled.filter(\.routesByName).map(\.name)
    if tunnels.isEmpty { return [] }
    return host.ownResolvers.map {
      HostFinding(
        "own-resolvers", .risk, "\($0), which may give it addresses that \(list(tunnels)) has no routes for",
        cure: "switch off DNS over HTTPS or TLS in its settings")
    }
  },
]
