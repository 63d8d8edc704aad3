import KernelModel
import NetworkTypes

extension KernelState {
  /// Links that carry addresses: programs of the host may report on them.
  var linksInUse: [Link] {
    let names = Set(addresses.map(\.link))
    return links.filter { names.contains($0.name) && $0.isUp && !$0.isLoopback && Ownership.tunnel(ofAlias: $0.alias) == nil }
  }
}
